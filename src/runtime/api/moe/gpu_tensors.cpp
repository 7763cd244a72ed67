#include "runtime/api/moe/gpu_tensors.hpp"

#include <algorithm>

#include "runtime/api/refuse.hpp"

namespace flashfit::api {

Result<void> check_on_gpu_of(const Argument& first, const Argument& a) {
  if (!a.on_gpu()) return refuse("{}: device is {}; accepted: a GPU", a.name, text(a.device));
  if (a.device.device_id != first.device.device_id)
    return refuse("{}: device is {}; accepted: {}, where {} is", a.name, text(a.device), text(first.device),
                  first.name);
  return {};
}

Result<DType> half_dtype_of(const Argument& first, std::initializer_list<const Argument*> others) {
  const bool half = is_dtype(first.dtype, kDLFloat, 16);
  if (!half && !is_dtype(first.dtype, kDLBfloat, 16))
    return refuse("{}: dtype is {}; accepted: fp16, bf16", first.name, text(first.dtype));
  for (const Argument* a : others)
    if (a->dtype.code != first.dtype.code || a->dtype.bits != 16)
      return refuse("{}: dtype is {}; accepted: {}, as {}", a->name, text(a->dtype), text(first.dtype), first.name);
  return half ? DType::kF16 : DType::kBF16;
}

Result<void> check_sizes(const Argument& a, std::initializer_list<std::int64_t> sizes) {
  if (a.ndim == 0 || std::ranges::equal(a.shape(), sizes)) return {};
  return refuse("{}: shape is {}; accepted: {}", a.name, text(a.shape()), text({sizes.begin(), sizes.size()}));
}

}  // namespace flashfit::api
