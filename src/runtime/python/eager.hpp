#pragma once
// What the module knows of torch's eager mode.
#include <atomic>
#include <cstdint>

#include "runtime/python/object.hpp"

namespace flashfit::python {

/// Torch's functions that say whether a call may go straight to memory, for one interpreter. Threads may call it at
/// once, without a lock of Python's.
class Eager {
 public:
  ~Eager() { clear(); }

  /// By name, as docstrings of connect_torch() say them.
  struct Torch {
    PyObject *tensor_type, *always, *quiet, *forward_ad, *is_grad_enabled, *empty_like, *check_like, *scratch;
    std::int64_t (*count_modes)();  ///< or nullptr: then `always` asks
  };
  /// False, with an exception, if `always` or `quiet` is no tuple of pairs or `forward_ad` no dict. Once at most.
  bool connect(const Torch& torch);

  /// Whether the tensors (None: not given; at most kMost) are torch's own, without a subclass, none needs a gradient or
  /// is lazily negated, and nothing watches or changes calls. No exception is left set.
  /// `readable`: all have sizes and strides. Only then is torch's check asked, which ends the process where it meets a
  /// tensor without (a nested or sparse one).
  bool is_plain(PyObject* const* tensors, int count, bool readable);
  static constexpr int kMost = 8;

  /// Whether an object is a tensor of torch's own type, and of no subclass: a subclass, such as a fake tensor, may have
  /// no memory to be read.
  bool is_of_torch(PyObject* object) const;

  /// As is_plain(), whether a tensor needs a gradient or not.
  bool is_plain_but_for_gradients(PyObject* const* tensors, int count) const;

  /// Whether a tensor of torch's says that it needs a gradient. No exception is left set.
  bool asks_for_gradients(PyObject* tensor) const;

  /// A new tensor like this one, nullptr with an exception.
  Owned empty_like(PyObject* tensor) const;

  /// A new tensor of so many bytes on this GPU, for work on its current stream; nullptr with an exception.
  Owned scratch(std::uint64_t bytes, int device) const;

  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  /// A check that vouches for calls like one that was plain: torch.compile's guard of tensors, made by check_like. In
  /// one call it compares types, dtypes, devices, requires_grad and what the dispatcher would do with each tensor in
  /// the state that this thread is in (negation, autocast, tracing, transforms).
  struct Known {
    unsigned given = 0;                      ///< a bit for each tensor that the check is given
    std::atomic<PyObject*> check = nullptr;  ///< written once, after `given`
  };

  bool hold(PyObject* pairs) const;
  bool is_alone() const;
  static bool vouches(const Known& known, PyObject* tensors, unsigned given);
  bool is_known(PyObject* tensors, unsigned given);
  void remember(PyObject* tensors, unsigned given);
  Owned new_check(PyObject* tensors) const;
  bool is_plain(PyObject* tensor, bool grad) const;
  bool needs_no_gradient(PyObject* tensor) const;  ///< an exception may be left set

  static constexpr int kKnown = 4;  ///< calls unlike the first four are asked about in full each time

  Known known_[kKnown];
  std::atomic<int> latest_ = 0;  ///< of known_: the one that vouched last, which is asked first
  std::atomic<bool> remembering_ = false;
  std::atomic<PyObject*> tensor_type_ = nullptr;  ///< written last by connect()
  PyObject* always_ = nullptr;
  PyObject* quiet_ = nullptr;
  PyObject* forward_ad_ = nullptr;
  PyObject* is_grad_enabled_ = nullptr;
  PyObject* empty_like_ = nullptr;
  PyObject* check_like_ = nullptr;
  PyObject* scratch_ = nullptr;
  PyObject* requires_grad_ = nullptr;  ///< the attributes' names, made once
  PyObject* is_neg_ = nullptr;
  PyObject* level_ = nullptr;
  PyObject* no_level_ = nullptr;  ///< -1
  std::int64_t (*count_modes_)() = nullptr;
};

}  // namespace flashfit::python
