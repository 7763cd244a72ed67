#include "proof/emu/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/layout/tensor_map_rules.hpp"
#include "proof/emu/atomic_add.hpp"

namespace flashfit::emu {
namespace {

constexpr std::uint64_t kMagic = 0x666c'6173'6866'6974;  // "flashfit"
constexpr std::uint32_t kChunk = 16;                     // bytes that a swizzle moves together
constexpr std::size_t kMostRowBytes = 256 * sizeof(float);

/// The encoding: as small as the driver's, and nothing that a map's rules exclude.
struct Encoded {
  std::uint64_t magic;
  const void* base;
  std::uint32_t dims_less_one[5];
  std::uint64_t strides[4];
  std::uint8_t box_less_one[5], element_strides[5];
  std::uint8_t rank, dtype, swizzle, l2, fill;
};
static_assert(sizeof(Encoded) <= sizeof(TensorMap));

/// The NaN of each type that fills. Which one the hardware takes is not documented.
void fill(std::byte* to, std::size_t bytes, const TensorMapSpec& spec) {
  if (spec.fill == OutOfBounds::kZeros) {
    std::memset(to, 0, bytes);
    return;
  }
  const std::uint32_t nan = 0x7fffffff, half_nan = 0x7fff7fff;
  for (std::size_t i = 0; i < bytes; i += 4) std::memcpy(to + i, spec.dtype == DType::kF32 ? &nan : &half_nan, 4);
}

}  // namespace

Result<TensorMap> encode_tensor_map(const TensorMapSpec& spec) {
  if (const auto sound = check(spec); !sound) return tl::unexpected(sound.error());
  if (spec.swizzle != SwizzleMode::kNone && spec.inner_bytes() != static_cast<std::uint32_t>(row_bytes(spec.swizzle)))
    return fail(Code::kInvalidArgument,
                fmt::format("tensor map: box[0] is {} bytes, fewer than a {} has, and where such rows lie in shared "
                            "memory is not documented",
                            spec.inner_bytes(), name_of(spec.swizzle)));
  Encoded e{};
  e.magic = kMagic;
  e.base = spec.base;
  for (int d = 0; d < spec.rank; ++d) {
    e.dims_less_one[d] = static_cast<std::uint32_t>(spec.dims[d] - 1);
    e.box_less_one[d] = static_cast<std::uint8_t>(spec.box[d] - 1);
    e.element_strides[d] = static_cast<std::uint8_t>(spec.element_strides[d]);
    if (d + 1 < spec.rank) e.strides[d] = spec.strides[d];
  }
  e.rank = static_cast<std::uint8_t>(spec.rank);
  e.dtype = static_cast<std::uint8_t>(spec.dtype);
  e.swizzle = static_cast<std::uint8_t>(spec.swizzle);
  e.l2 = static_cast<std::uint8_t>(spec.l2);
  e.fill = static_cast<std::uint8_t>(spec.fill);
  TensorMap map{};
  std::memcpy(&map, &e, sizeof e);
  return map;
}

std::optional<TensorMapSpec> decode_tensor_map(const TensorMap& map) {
  Encoded e;
  std::memcpy(&e, &map, sizeof e);
  if (e.magic != kMagic) return std::nullopt;
  TensorMapSpec spec{.dtype = static_cast<DType>(e.dtype),
                     .rank = e.rank,
                     .base = e.base,
                     .dims = {},
                     .strides = {},
                     .box = {},
                     .swizzle = static_cast<SwizzleMode>(e.swizzle),
                     .l2 = static_cast<L2Promotion>(e.l2),
                     .fill = static_cast<OutOfBounds>(e.fill)};
  for (int d = 0; d < spec.rank; ++d) {
    spec.dims[d] = std::uint64_t{e.dims_less_one[d]} + 1;
    spec.box[d] = std::uint32_t{e.box_less_one[d]} + 1;
    spec.element_strides[d] = e.element_strides[d];
    if (d + 1 < spec.rank) spec.strides[d] = e.strides[d];
  }
  return spec;
}

BoxCopy::Row BoxCopy::row(std::uint32_t i) const {
  const auto size = static_cast<std::int64_t>(size_of(spec_.dtype));
  auto address = reinterpret_cast<std::uintptr_t>(spec_.base);
  for (int d = 1; d < spec_.rank; ++d) {
    const std::int64_t at = at_[d] + std::int64_t{i % spec_.extent(d) * spec_.element_strides[d]};
    i /= spec_.extent(d);
    if (at < 0 || at >= static_cast<std::int64_t>(spec_.dims[d])) return {0, 0, 0};
    address += static_cast<std::uintptr_t>(at) * spec_.strides[d - 1];
  }
  const std::int64_t first = std::max<std::int64_t>(at_[0], 0);
  const std::int64_t last = std::min(static_cast<std::int64_t>(spec_.dims[0]), at_[0] + std::int64_t{spec_.box[0]});
  if (first >= last) return {0, 0, 0};
  return {address + static_cast<std::uintptr_t>(first * size), static_cast<std::size_t>((first - at_[0]) * size),
          static_cast<std::size_t>((last - first) * size)};
}

void BoxCopy::load(std::byte* shared) const {
  std::byte whole[kMostRowBytes];
  for (std::uint32_t r = 0; r < rows(); ++r) {
    const Row inside = row(r);
    fill(whole, spec_.inner_bytes(), spec_);
    if (inside.bytes != 0)
      std::memcpy(whole + inside.skipped, reinterpret_cast<const void*>(inside.address), inside.bytes);
    for (std::uint32_t byte = 0; byte < spec_.inner_bytes(); byte += kChunk)
      std::memcpy(shared + chunk(r, byte), whole + byte, kChunk);
  }
}

template <class Each>
void BoxCopy::for_each_part(const std::byte* shared, Each each) const {
  std::byte whole[kMostRowBytes];
  for (std::uint32_t r = 0; r < rows(); ++r) {
    const Row inside = row(r);
    if (inside.bytes == 0) continue;
    for (std::uint32_t byte = 0; byte < spec_.inner_bytes(); byte += kChunk)
      std::memcpy(whole + byte, shared + chunk(r, byte), kChunk);
    each(reinterpret_cast<std::byte*>(inside.address), whole + inside.skipped, inside.bytes);
  }
}

void BoxCopy::store(const std::byte* shared) const {
  for_each_part(shared, [](std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); });
}

void BoxCopy::reduce_add(const std::byte* shared) const {
  for_each_part(shared, [this](std::byte* to, const std::byte* from, std::size_t bytes) {
    if (spec_.dtype == DType::kF16)
      atomic_add<f16>(to, from, bytes);
    else if (spec_.dtype == DType::kBF16)
      atomic_add<bf16>(to, from, bytes);
    else
      atomic_add<float>(to, from, bytes);
  });
}

}  // namespace flashfit::emu
