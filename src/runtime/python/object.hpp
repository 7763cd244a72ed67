#pragma once
// Python objects as this module holds them. One source makes two files: for ordinary Pythons, of the limited API of
// 3.10, the first with METH_FASTCALL in it; and with FLASHFIT_ABI3T for free-threaded Pythons from 3.15 on, of abi3t
// (PEP 803). An object's memory differs between the two, and headers older than 3.15 know the first alone. So what
// Python.h does by looking into an object (Py_TYPE, Py_INCREF, PyTuple_Check ...) is done here by functions of Python;
// tests/python/abi3t_test.py holds the module to that.
#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <memory>
#include <utility>

#ifdef FLASHFIT_ABI3T
extern "C" PyAPI_FUNC(PyObject*) Py_GetConstantBorrowed(unsigned id);  // of the stable ABI from 3.13 on
#endif

namespace flashfit::python {

#ifdef FLASHFIT_ABI3T
inline PyTypeObject* type_of(PyObject* object) {
  PyObject* const type = PyObject_Type(object);
  Py_DecRef(type);  // the object holds it, too
  return reinterpret_cast<PyTypeObject*>(type);
}
#undef Py_None
#undef Py_False
#undef Py_True
#undef Py_NotImplemented
#define Py_None Py_GetConstantBorrowed(0)
#define Py_False Py_GetConstantBorrowed(1)
#define Py_True Py_GetConstantBorrowed(2)
#define Py_NotImplemented Py_GetConstantBorrowed(4)
#else
inline PyTypeObject* type_of(PyObject* object) { return Py_TYPE(object); }
#endif

inline bool is_of(PyObject* object, unsigned long subclass) {
  return (PyType_GetFlags(type_of(object)) & subclass) != 0;
}
inline bool is_tuple(PyObject* object) { return is_of(object, Py_TPFLAGS_TUPLE_SUBCLASS); }
inline bool is_dict(PyObject* object) { return is_of(object, Py_TPFLAGS_DICT_SUBCLASS); }
inline bool is_str(PyObject* object) { return is_of(object, Py_TPFLAGS_UNICODE_SUBCLASS); }

struct Release {
  void operator()(PyObject* object) const { Py_DecRef(object); }
};

/// One reference, given back at the end of the scope. nullptr means that a Python exception is set.
using Owned = std::unique_ptr<PyObject, Release>;

/// One more reference to the object, for the caller.
inline PyObject* new_reference(PyObject* object) {
  Py_IncRef(object);
  return object;
}

/// Lets a member that owns a reference, or nullptr, own another one.
inline void replace(PyObject*& member, PyObject* object) {
  Py_IncRef(object);
  Py_DecRef(std::exchange(member, object));
}

}  // namespace flashfit::python
