#include "measure/gpu_fill.hpp"

#include <algorithm>
#include <vector>

#include "measure/filling.hpp"
#include "measure/kernel_params.hpp"
#include "measure/values.hpp"

namespace flashfit::measure {
namespace {

/// The kernel writes pairs of elements of q's dtype, each at a multiple of their size.
bool kernel_can(const Case& c, const Placement& p, Filled tensor) {
  const Place& place = place_of(p, tensor);
  if (tensor == kBias && c.bias.kind == BiasKind::kNone) return true;
  if (c.dtype == DType::kF32 || (tensor == kBias && c.bias.kind != BiasKind::kLikeQ)) return false;
  const auto odd = [](std::int64_t n) { return n % 2 != 0; };
  return !odd(place.dim) && !odd(place.head_stride) && !odd(place.row_stride) && !odd(place.batch_stride) &&
         place.offset % 4 == 0;
}

Result<void> by_kernel(GpuBed& bed, const Case& c, const Place& place, Filled tensor, std::uint64_t seed,
                       std::byte* memory) {
  if (place.elements() == 0) return {};
  const FillParams params{.data = memory + place.offset,
                          .rows = place.rows,
                          .heads = place.heads,
                          .dim = place.dim,
                          .batch_stride = place.batch_stride,
                          .row_stride = place.row_stride,
                          .head_stride = place.head_stride,
                          .pairs = place.elements() / 2,
                          .key = stream_of(seed, tensor),
                          .scale = tensor <= kV ? static_cast<float>(c.magnitude_of(tensor)) : 1.0f,
                          .tensor = tensor,
                          .planted = reference::planted_columns(c.planted, c.softmax_scale)};
  return bed.launch(c.dtype == DType::kBF16 ? "fill_bf16" : "fill_fp16", bed.gpu().sms * 8, kThreads, &params);
}

/// q, k and v may lie in each other's gaps: all that is before the results at once.
Result<void> from_host(GpuBed& bed, const Case& c, const Placement& p, std::uint64_t seed, std::byte* memory) {
  std::vector<std::byte> bytes(p.results, std::byte{kPoison});
  fill_on_host(c, p, seed, bytes.data());
  return bed.upload(memory, bytes);
}

}  // namespace

Result<void> fill_on_gpu(GpuBed& bed, const Case& c, const Placement& p, std::uint64_t seed, std::byte* memory) {
  constexpr Filled kAll[] = {kQ, kK, kV, kBias};
  if (!std::all_of(std::begin(kAll), std::end(kAll), [&](Filled t) { return kernel_can(c, p, t); }))
    return from_host(bed, c, p, seed, memory);
  Result<void> r;
  for (const Filled tensor : kAll)
    if (r) r = by_kernel(bed, c, place_of(p, tensor), tensor, seed, memory);
  for (const SmallTensor& small : small_tensors(c, p, seed))
    if (r) r = bed.upload(memory + small.offset, small.bytes);
  return r;
}

}  // namespace flashfit::measure
