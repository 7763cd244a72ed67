#pragma once
// A host's call by what its arguments are, read from Python's objects.
#include "runtime/python/eager.hpp"
#include "runtime/python/known_calls.hpp"
#include "runtime/python/tensor.hpp"

namespace flashfit::python {

/// Adds the arguments to the call's signature: of tensors of torch's own type their dtypes, devices and sizes, and the
/// values of None, bools and floats. Two calls have the same signature only if all of these are the same. False, with
/// no exception left, if an argument is anything else or cannot be read quickly: a tensor of a subclass or without
/// strides, or of a torch without DLPack's exchange API.
bool describe(PyObject* const* arguments, Py_ssize_t count, const Eager& eager, TensorTypes& types,
              CallSignature& signature);

}  // namespace flashfit::python
