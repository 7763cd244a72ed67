#pragma once
// What the module knows of torch's eager mode.
#include "python/object.hpp"

namespace flashfit::python {

/// Torch's functions that say whether a call may go straight to memory, for one interpreter.
class Eager {
 public:
  ~Eager() { clear(); }

  /// quiet: a tuple of pairs (callable, object): eager mode is plain while each callable returns its very object.
  /// False, with an exception, if it is none.
  bool connect(PyObject* tensor_type, PyObject* quiet, PyObject* is_grad_enabled, PyObject* empty_like);

  /// Whether the tensors are torch's own, without a subclass, none needs a gradient or is lazily negated, and nothing
  /// watches or changes calls. No exception is left set.
  bool is_plain(PyObject* const* tensors, int count) const;

  /// A new tensor like this one, nullptr with an exception.
  Owned empty_like(PyObject* tensor) const;

  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  bool is_quiet() const;
  bool is_plain(PyObject* tensor, bool grad) const;

  PyObject* tensor_type_ = nullptr;
  PyObject* quiet_ = nullptr;
  PyObject* is_grad_enabled_ = nullptr;
  PyObject* empty_like_ = nullptr;
  PyObject* requires_grad_ = nullptr;  ///< the attributes' names, made once
  PyObject* is_neg_ = nullptr;
};

}  // namespace flashfit::python
