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

Result<void> read_product_tensors(std::initializer_list<ProductTensor> all) {
  for (const ProductTensor& each : all) {
    if (auto ok = read_argument(each.name, each.tensor, each.ndim, each.layout, each.to); !ok) return ok;
    if (auto ok = check_on_gpu_of(all.begin()->to, each.to); !ok) return ok;
    if (each.ndim > 1 && each.to.begin % 16 != 0)
      return refuse("{}: address {:#x}; accepted: a multiple of 16", each.name, each.to.begin);
  }
  return {};
}

Result<DType> product_dtype_of(const Argument& a, const Argument& other, const Argument& offsets, const Argument& out) {
  auto dtype = half_dtype_of(a, {&other, &out});
  if (!dtype) return dtype;
  if (!is_dtype(offsets.dtype, kDLInt, 32)) return refuse("offsets: dtype is {}; accepted: int32", text(offsets.dtype));
  return dtype;
}

Result<void> check_product_memory(const Argument& a, const Argument& other, const Argument& offsets,
                                  const Argument& out) {
  for (const Argument* x : {&offsets, &out})
    if (!is_contiguous(*x)) return refuse("{}: strides are {}; accepted: contiguous", x->name, text(x->strides()));
  for (const Argument* read : {&a, &other, &offsets})
    if (overlap(out, *read)) return refuse_overlap(out, *read);
  return {};
}

}  // namespace flashfit::api
