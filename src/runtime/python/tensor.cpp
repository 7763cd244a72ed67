#include "runtime/python/tensor.hpp"

#include <algorithm>

namespace flashfit::python {
namespace {

/// -1 and an exception are told apart by the caller's PyErr_Occurred().
long long integer_at(PyObject* tuple, Py_ssize_t index) {
  PyObject* item = PyTuple_GetItem(tuple, index);
  return item ? PyLong_AsLongLong(item) : -1;
}

const ExchangeApi* find_exchange(PyTypeObject* type) {
  const Owned capsule(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), kExchangeAttribute));
  if (!capsule || !PyCapsule_IsValid(capsule.get(), kExchangeCapsule)) return nullptr;
  auto* header = static_cast<const ExchangeHeader*>(PyCapsule_GetPointer(capsule.get(), kExchangeCapsule));
  while (header && header->major != kExchangeMajor) header = header->previous;
  const auto* api = reinterpret_cast<const ExchangeApi*>(header);
  return api && api->dltensor_from_py_object_no_sync ? api : nullptr;
}

}  // namespace

bool TensorTypes::set_torch(PyObject* tensor_type, PyObject* dtypes, PyObject* current_stream) {
  const char* const names[kNames] = {"dtype", "shape", "is_cpu", "is_cuda", "data_ptr", "stride", "get_device"};
  for (int i = 0; i < kNames; ++i) {
    const Owned name(PyUnicode_InternFromString(names[i]));
    if (!name) return false;
    replace(names_[i], name.get());
  }
  replace(dtypes_, dtypes);
  replace(current_stream_, current_stream);
  tensor_type_.store(new_reference(tensor_type), std::memory_order_release);
  return true;
}

const ExchangeApi* TensorTypes::exchange(PyObject* object) {
  PyTypeObject* const type = type_of(object);
  for (const Known& known : known_) {
    PyTypeObject* const found = known.type.load(std::memory_order_acquire);
    if (found == type) return known.api;
    if (!found) break;
  }
  const ExchangeApi* api = find_exchange(type);
  PyErr_Clear();
  remember(type, api);
  return api;
}

void TensorTypes::remember(PyTypeObject* type, const ExchangeApi* api) {
  // While another thread does, this type is looked up once more when it comes again.
  if (remembering_.exchange(true, std::memory_order_acquire)) return;
  for (Known& known : known_) {
    PyTypeObject* const found = known.type.load(std::memory_order_relaxed);
    if (found == type) break;
    if (found) continue;
    known.api = api;
    Py_IncRef(reinterpret_cast<PyObject*>(type));
    known.type.store(type, std::memory_order_release);
    break;
  }
  remembering_.store(false, std::memory_order_release);
}

int TensorTypes::traverse(visitproc visit, void* arg) const {
  for (const Known& known : known_) Py_VISIT(known.type.load());
  Py_VISIT(tensor_type_.load());
  Py_VISIT(dtypes_);
  Py_VISIT(current_stream_);
  return 0;
}

void TensorTypes::clear() {
  for (Known& known : known_) Py_DecRef(reinterpret_cast<PyObject*>(known.type.exchange(nullptr)));
  Py_DecRef(tensor_type_.exchange(nullptr));
  replace(dtypes_, nullptr);
  replace(current_stream_, nullptr);
  for (PyObject*& name : names_) replace(name, nullptr);
}

bool Tensor::read(PyObject* object, TensorTypes& types, bool heads_first) {
  bool read = false;
  exchange_ = is_tuple(object) ? nullptr : types.exchange(object);
  if (is_tuple(object)) {
    read = read_tuple(object);
  } else if (exchange_) {
    read = exchange_->dltensor_from_py_object_no_sync(object, &tensor_) == 0;
  } else if (types.torch_tensor_type() && PyObject_IsInstance(object, types.torch_tensor_type()) == 1) {
    read = read_torch(object, types);
  }
  if (PyErr_Occurred()) PyErr_Clear();
  return read && (!heads_first || swap_heads());
}

void Tensor::take(const DLTensor& tensor, bool heads_first) {
  tensor_ = tensor;
  if (heads_first) swap_heads();
}

bool Tensor::read_extents(PyObject* shape, PyObject* strides) {
  if (!shape || !strides || !is_tuple(shape) || !is_tuple(strides)) return false;
  const Py_ssize_t ndim = PyTuple_Size(shape);
  if (PyTuple_Size(strides) != ndim) return false;
  for (Py_ssize_t i = 0; i < std::min<Py_ssize_t>(ndim, kMaxDims); ++i) {
    shape_[i] = integer_at(shape, i);
    strides_[i] = integer_at(strides, i);
  }
  tensor_.ndim = static_cast<int32_t>(ndim);
  tensor_.shape = shape_;
  tensor_.strides = strides_;
  return !PyErr_Occurred();
}

bool Tensor::read_tuple(PyObject* tuple) {
  if (PyTuple_Size(tuple) != 7) return false;
  tensor_.data = PyLong_AsVoidPtr(PyTuple_GetItem(tuple, 0));
  tensor_.device = {static_cast<DLDeviceType>(integer_at(tuple, 1)), static_cast<int32_t>(integer_at(tuple, 2))};
  tensor_.dtype = {static_cast<uint8_t>(integer_at(tuple, 3)), static_cast<uint8_t>(integer_at(tuple, 4)), 1};
  return read_extents(PyTuple_GetItem(tuple, 5), PyTuple_GetItem(tuple, 6));
}

bool Tensor::read_torch(PyObject* tensor, TensorTypes& types) {
  const auto get = [&](TensorTypes::Name name) { return Owned(PyObject_GetAttr(tensor, types.name(name))); };
  const auto call = [&](TensorTypes::Name name) {
    return Owned(PyObject_CallMethodObjArgs(tensor, types.name(name), nullptr));
  };
  const Owned dtype = get(TensorTypes::kDtype);
  PyObject* known = dtype ? PyDict_GetItemWithError(types.torch_dtypes(), dtype.get()) : nullptr;
  if (!known) return false;
  const Owned device = call(TensorTypes::kGetDevice);
  const Owned data = device ? call(TensorTypes::kDataPtr) : nullptr;
  if (!data) return false;
  const long code_and_bits = PyLong_AsLong(known);
  tensor_.dtype = {static_cast<uint8_t>(code_and_bits >> 8), static_cast<uint8_t>(code_and_bits & 0xff), 1};
  tensor_.data = PyLong_AsVoidPtr(data.get());
  const long index = PyLong_AsLong(device.get());  // -1: not a GPU, but not yet the CPU
  const Owned mine = get(index < 0 ? TensorTypes::kIsCpu : TensorTypes::kIsCuda);
  if (mine.get() != Py_True) return false;
  tensor_.device = index < 0 ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, static_cast<int32_t>(index)};
  const Owned shape = get(TensorTypes::kShape);
  const Owned strides = shape ? call(TensorTypes::kStride) : nullptr;
  return read_extents(shape.get(), strides.get());
}

/// Sizes and strides, at most kMaxDims of each, that may be changed.
void Tensor::own_extents() {
  if (tensor_.shape == shape_) return;
  std::copy_n(tensor_.shape, tensor_.ndim, shape_);
  std::copy_n(tensor_.strides, tensor_.ndim, strides_);
  tensor_.shape = shape_;
  tensor_.strides = strides_;
}

bool Tensor::lead_with_ones() {
  const int missing = kMaxDims - tensor_.ndim;
  if (missing <= 0) return true;
  if (tensor_.ndim > 0 && !tensor_.strides) return false;
  own_extents();
  std::copy_backward(shape_, shape_ + tensor_.ndim, shape_ + kMaxDims);
  std::copy_backward(strides_, strides_ + tensor_.ndim, strides_ + kMaxDims);
  std::fill_n(shape_, missing, 1);
  std::fill_n(strides_, missing, 0);
  tensor_.ndim = kMaxDims;
  return true;
}

bool Tensor::swap_heads() {
  if (tensor_.ndim < 3 || tensor_.ndim > kMaxDims) return true;  // refused by the number of dimensions
  if (!tensor_.strides) return false;
  own_extents();
  std::swap(shape_[tensor_.ndim - 3], shape_[tensor_.ndim - 2]);
  std::swap(strides_[tensor_.ndim - 3], strides_[tensor_.ndim - 2]);
  return true;
}

bool current_stream(const Tensor& tensor, TensorTypes& types, void** stream) {
  *stream = nullptr;
  const DLDevice device = tensor.get().device;
  if (device.device_type != kDLCUDA) return true;
  if (tensor.exchange()) {
    if (tensor.exchange()->current_work_stream(kDLCUDA, device.device_id, stream) == 0) return true;
    PyErr_Clear();
    return false;
  }
  PyObject* current = types.torch_current_stream();
  if (!current || current == Py_None) return false;
  const Owned handle(PyObject_CallFunction(current, "i", static_cast<int>(device.device_id)));
  if (handle) *stream = PyLong_AsVoidPtr(handle.get());
  if (!PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

}  // namespace flashfit::python
