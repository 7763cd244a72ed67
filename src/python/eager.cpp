#include "python/eager.hpp"

namespace flashfit::python {

bool Eager::connect(PyObject* tensor_type, PyObject* quiet, PyObject* is_grad_enabled, PyObject* empty_like) {
  for (Py_ssize_t i = 0, n = PyTuple_Size(quiet); i < n || n < 0; ++i) {
    PyObject* pair = n < 0 ? nullptr : PyTuple_GetItem(quiet, i);
    if (pair && PyTuple_Size(pair) == 2) continue;
    PyErr_SetString(PyExc_TypeError, "connect_torch: quiet; accepted: a tuple of pairs (callable, object)");
    return false;
  }
  const Owned requires_grad(PyUnicode_InternFromString("requires_grad"));
  const Owned is_neg(PyUnicode_InternFromString("is_neg"));
  if (!requires_grad || !is_neg) return false;
  replace(tensor_type_, tensor_type);
  replace(quiet_, quiet);
  replace(is_grad_enabled_, is_grad_enabled);
  replace(empty_like_, empty_like);
  replace(requires_grad_, requires_grad.get());
  replace(is_neg_, is_neg.get());
  return true;
}

bool Eager::is_quiet() const {
  for (Py_ssize_t i = 0, n = PyTuple_Size(quiet_); i < n; ++i) {
    PyObject* pair = PyTuple_GetItem(quiet_, i);
    const Owned found(PyObject_CallNoArgs(PyTuple_GetItem(pair, 0)));
    if (found.get() != PyTuple_GetItem(pair, 1)) return false;
  }
  return true;
}

bool Eager::is_plain(PyObject* tensor, bool grad) const {
  if (reinterpret_cast<PyObject*>(Py_TYPE(tensor)) != tensor_type_) return false;
  if (grad && Owned(PyObject_GetAttr(tensor, requires_grad_)).get() != Py_False) return false;
  return Owned(PyObject_CallMethodObjArgs(tensor, is_neg_, nullptr)).get() == Py_False;
}

bool Eager::is_plain(PyObject* const* tensors, int count) const {
  bool plain = tensor_type_ && is_quiet();
  const bool grad = plain && Owned(PyObject_CallNoArgs(is_grad_enabled_)).get() != Py_False;
  for (int i = 0; plain && i < count; ++i) plain = tensors[i] == Py_None || is_plain(tensors[i], grad);
  if (!plain) PyErr_Clear();
  return plain;
}

Owned Eager::empty_like(PyObject* tensor) const {
  return Owned(PyObject_CallFunctionObjArgs(empty_like_, tensor, nullptr));
}

int Eager::traverse(visitproc visit, void* arg) const {
  Py_VISIT(tensor_type_);
  Py_VISIT(quiet_);
  Py_VISIT(is_grad_enabled_);
  Py_VISIT(empty_like_);
  return 0;
}

void Eager::clear() {
  Py_CLEAR(tensor_type_);
  Py_CLEAR(quiet_);
  Py_CLEAR(is_grad_enabled_);
  Py_CLEAR(empty_like_);
  Py_CLEAR(requires_grad_);
  Py_CLEAR(is_neg_);
}

}  // namespace flashfit::python
