#include "runtime/python/describe_call.hpp"

#include <bit>

namespace flashfit::python {
namespace {

/// The lowest byte of an argument's first word: it says how many words follow.
enum Kind : std::int64_t { kNone, kFalse, kTrue, kFloat, kTensor };

bool describe_tensor(PyObject* object, TensorTypes& types, CallSignature& signature) {
  Tensor tensor;
  if (!types.exchange(object) || !tensor.read(object, types, false)) return false;
  const DLTensor& t = tensor.get();
  if (t.ndim > CallSignature::kMostDims || t.dtype.lanes != 1) return false;
  std::int64_t what = t.device.device_id & 0xffff;
  for (const std::int64_t each : {std::int64_t{t.device.device_type}, std::int64_t{t.dtype.code},
                                  std::int64_t{t.dtype.bits}, std::int64_t{t.ndim}, std::int64_t{kTensor}})
    what = what << 8 | (each & 0xff);
  bool fits = signature.add(what);
  for (int i = 0; i < t.ndim; ++i) fits = fits && signature.add(t.shape[i]);
  return fits;
}

bool describe(PyObject* object, const Eager& eager, TensorTypes& types, CallSignature& signature) {
  if (eager.is_of_torch(object)) return describe_tensor(object, types, signature);
  if (object == Py_None) return signature.add(kNone);
  if (object == Py_False) return signature.add(kFalse);
  if (object == Py_True) return signature.add(kTrue);
  if (type_of(object) != &PyFloat_Type) return false;
  return signature.add(kFloat) && signature.add(std::bit_cast<std::int64_t>(PyFloat_AsDouble(object)));
}

}  // namespace

bool describe(PyObject* const* arguments, Py_ssize_t count, const Eager& eager, TensorTypes& types,
              CallSignature& signature) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!describe(arguments[i], eager, types, signature)) return false;
  return true;
}

}  // namespace flashfit::python
