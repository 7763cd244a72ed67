#pragma once
// torch's stable C interface, as far as this module uses it: torch/csrc/inductor/aoti_torch/c/shim.h, which code that
// was compiled before calls in any release from 2.8 on. Declared here because the module is built without torch; the
// package finds the functions in the libraries that torch loaded (_torch_shim.py).
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "runtime/python/tensor.hpp"

namespace flashfit::python::torch_shim {

struct TensorObject;           ///< AtenTensorOpaque
using Handle = TensorObject*;  ///< AtenTensorHandle: one reference to a tensor of torch
using Value = std::uint64_t;   ///< StableIValue: an argument or a result; an optional one is 0 or an address of a Value
using Status = std::int32_t;   ///< AOTITorchError: 0 if all went well
using Name = std::int32_t (*)();  ///< the number that a dtype or a kind of device has in this torch

/// The functions, in the order in which connect_shim() takes their addresses. `current_cuda_stream` is nullptr where
/// torch has no CUDA, `get_layout` before 2.9.
struct Functions {
  Status (*delete_tensor_object)(Handle);
  Status (*new_tensor_handle)(Handle, Handle*);
  Status (*new_uninitialized_tensor)(Handle*);
  Status (*empty_strided)(std::int64_t ndim, const std::int64_t* sizes, const std::int64_t* strides, std::int32_t dtype,
                          std::int32_t device_type, std::int32_t device_index, Handle*);
  Status (*get_data_ptr)(Handle, void**);
  Status (*get_dim)(Handle, std::int64_t*);
  Status (*get_sizes)(Handle, std::int64_t**);
  Status (*get_strides)(Handle, std::int64_t**);
  Status (*get_dtype)(Handle, std::int32_t*);
  Status (*get_device_type)(Handle, std::int32_t*);
  Status (*get_device_index)(Handle, std::int32_t*);
  Status (*get_layout)(Handle, std::int32_t*);
  Name dtype_float16, dtype_bfloat16, dtype_float32, dtype_uint8, dtype_uint64;
  Name device_type_cpu, device_type_cuda;
  Status (*current_cuda_stream)(std::int32_t device_index, void** stream);
};
inline constexpr int kFunctions = sizeof(Functions) / sizeof(void*);

/// Those of this process, for torch has one dispatcher: written before a kernel of this module is registered, and then
/// read.
inline Functions functions{};

struct Delete {
  void operator()(Handle tensor) const { functions.delete_tensor_object(tensor); }
};
/// A reference that is given back at the end of the scope; nullptr: none.
using Reference = std::unique_ptr<TensorObject, Delete>;

/// Where a tensor of torch is, in torch's numbers.
struct Place {
  std::int32_t device_type = 0, device_index = 0;
};

/// A new tensor without values; nullptr if torch has no memory for it.
inline Reference empty(int ndim, const std::int64_t* sizes, const std::int64_t* strides, std::int32_t dtype,
                       Place place) {
  Handle made = nullptr;
  if (functions.empty_strided(ndim, sizes, strides, dtype, place.device_type, place.device_index, &made) != 0)
    return nullptr;
  return Reference(made);
}

/// A tensor that torch takes for none.
inline Reference undefined() {
  Handle made = nullptr;
  functions.new_uninitialized_tensor(&made);
  return Reference(made);
}

/// One more reference to the tensor.
inline Reference again(Handle tensor) {
  Handle made = nullptr;
  functions.new_tensor_handle(tensor, &made);
  return Reference(made);
}

/// What an optional argument holds, which is freed.
inline std::optional<Value> taken(Value argument) {
  if (argument == 0) return std::nullopt;
  auto* const held = reinterpret_cast<Value*>(argument);
  const Value value = *held;
  ::operator delete(held);
  return value;
}

/// What DLPack calls the tensor, which lends its sizes and strides. False if it has no memory of its own, or another
/// dtype than fp16, bf16 and fp32, or is neither on the CPU nor on a GPU.
inline bool read(Handle tensor, DLTensor& out, Place& place) {
  const Functions& f = functions;
  std::int64_t ndim = 0;
  std::int32_t dtype = 0;
  if (f.get_dtype(tensor, &dtype) != 0 || f.get_dim(tensor, &ndim) != 0 || f.get_sizes(tensor, &out.shape) != 0 ||
      f.get_strides(tensor, &out.strides) != 0 || f.get_device_type(tensor, &place.device_type) != 0 ||
      f.get_device_index(tensor, &place.device_index) != 0 || f.get_data_ptr(tensor, &out.data) != 0)
    return false;
  out.ndim = static_cast<std::int32_t>(ndim);
  const bool on_cpu = place.device_type == f.device_type_cpu();
  if (!on_cpu && place.device_type != f.device_type_cuda()) return false;
  out.device = on_cpu ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, place.device_index};
  if (dtype == f.dtype_float16()) {
    out.dtype = {kDLFloat, 16, 1};
  } else if (dtype == f.dtype_bfloat16()) {
    out.dtype = {kDLBfloat, 16, 1};
  } else if (dtype == f.dtype_float32()) {
    out.dtype = {kDLFloat, 32, 1};
  } else {
    return false;
  }
  return true;
}

}  // namespace flashfit::python::torch_shim
