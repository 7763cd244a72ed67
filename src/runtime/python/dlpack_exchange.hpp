#pragma once
// What flashfit reads of DLPack's C exchange API (DLPack 1.3, "fast exchange protocol"): a table of functions that a
// tensor type carries in its attribute __dlpack_c_exchange_api__, so that a tensor is read without a Python call.
// Declared here because dlpack.h of Debian 12 and Ubuntu 22.04 is older; the layout is fixed for the major version.
#include <dlpack/dlpack.h>

#include <cstdint>

namespace flashfit::python {

inline constexpr const char* kExchangeAttribute = "__dlpack_c_exchange_api__";
inline constexpr const char* kExchangeCapsule = "dlpack_exchange_api";
inline constexpr std::uint32_t kExchangeMajor = 1;

struct ExchangeHeader {
  std::uint32_t major, minor;
  const ExchangeHeader* previous;  ///< the same type's table of an older major version, or nullptr
};

/// Functions return 0, or -1 with a Python exception set; all want the GIL.
struct ExchangeApi {
  ExchangeHeader header;
  void (*managed_tensor_allocator)();
  void (*managed_tensor_from_py_object_no_sync)();
  void (*managed_tensor_to_py_object_no_sync)();
  /// Fills `out` without taking ownership: shape and strides live as long as the object. May be nullptr.
  int (*dltensor_from_py_object_no_sync)(void* py_object, DLTensor* out);
  /// The stream that the package queues its work on at present.
  int (*current_work_stream)(DLDeviceType device_type, std::int32_t device_id, void** stream);
};

}  // namespace flashfit::python
