#pragma once
// How CPython calls a function (PEP 590), and how another way is given to one of Python's: from 3.12 on, by functions
// that the limited API lacks. The function stays what it was for all that looks at it: signatures, pickles, and
// torch.compile, which reads its code.
#include <cstddef>
#include <limits>

#include "runtime/python/object.hpp"

namespace flashfit::python {

/// vectorcallfunc. `count` is of the arguments by place, which come first, and has a flag in its highest bit; `names`
/// is a tuple of the names of those that follow, or nullptr.
using Vectorcall = PyObject* (*)(PyObject* function, PyObject* const* args, std::size_t count, PyObject* names);
using SetVectorcall = void (*)(PyObject* function, Vectorcall way);  ///< PyFunction_SetVectorcall
using VectorcallOf = Vectorcall (*)(PyObject* function);             ///< PyVectorcall_Function

/// PyVectorcall_NARGS().
inline Py_ssize_t arguments_of(std::size_t count) {
  return static_cast<Py_ssize_t>(count & (std::numeric_limits<std::size_t>::max() >> 1));
}

}  // namespace flashfit::python
