#pragma once
// Python objects as this module holds them.
// Limited API of Python 3.10, the first with METH_FASTCALL in it: one file serves 3.10 and later.
#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <memory>
#include <utility>

namespace flashfit::python {

struct Release {
  void operator()(PyObject* object) const { Py_DecRef(object); }
};

/// One reference, given back at the end of the scope. nullptr means that a Python exception is set.
using Owned = std::unique_ptr<PyObject, Release>;

/// Lets a member that owns a reference own another one.
inline void replace(PyObject*& member, PyObject* object) {
  Py_IncRef(object);
  Py_DecRef(std::exchange(member, object));
}

}  // namespace flashfit::python
