#pragma once
// Python objects that this module owns.
// Limited API of Python 3.10, the first with vectorcall-like METH_FASTCALL in it: one file serves 3.10 and later.
#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <memory>

namespace flashfit::python {

struct Release {
  void operator()(PyObject* object) const { Py_DecRef(object); }
};

/// One reference, given back at the end of the scope. nullptr means that a Python exception is set.
using Owned = std::unique_ptr<PyObject, Release>;

}  // namespace flashfit::python
