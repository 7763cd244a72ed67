#include "tensor_input.hpp"

#include <algorithm>

namespace flashfit::fuzz {
namespace {

/// Where the largest DLTensor reader stops: dimensions past this are refused by their number alone.
constexpr int kMostDims = 8;

}  // namespace

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0; step *= shape[i]) strides[i] = step;
  return strides;
}

void* wild(Bytes& bytes) {
  constexpr std::uintptr_t kWild[] = {0x7f0000000000, 0x10, ~std::uintptr_t{0}, ~std::uintptr_t{0} - 15,
                                      0x7f0000000002};
  return reinterpret_cast<void*>(bytes.below(2) ? bytes.number<std::uintptr_t>() : bytes.pick(kWild));
}

void InputTensor::seal() {
  dl.ndim = ndim;
  dl.shape = null_shape ? nullptr : shape.data();
  dl.strides = null_strides || strides.empty() ? nullptr : strides.data();
}

void twist(std::size_t what, InputTensor& t, std::span<const InputTensor> all, Bytes& bytes, Arena& arena) {
  const auto dimension = [&](std::vector<std::int64_t>& list) -> std::int64_t& {
    return list[bytes.below(list.size())];
  };
  switch (what) {
    case 0:
      t.dl.data = nullptr;
      return;
    case 1:
      t.dl.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(t.dl.data) + bytes.number<std::int16_t>());
      return;
    case 2:
      t.dl.data = wild(bytes);
      return;
    case 3:
      t.dl.byte_offset = static_cast<std::uint64_t>(bytes.odd_number());
      return;
    case 4:
      if (!t.shape.empty()) dimension(t.shape) = bytes.odd_number();
      return;
    case 5:
      if (!t.strides.empty()) dimension(t.strides) = bytes.odd_number();
      return;
    case 6:
      t.null_strides = true;
      return;
    case 7:
      t.null_shape = true;
      return;
    case 8:
      t.ndim = bytes.below(2) ? static_cast<int>(bytes.odd_number()) : static_cast<int>(bytes.below(kMostDims));
      t.shape.resize(static_cast<std::size_t>(std::clamp(t.ndim, 0, kMostDims)), 1);
      t.strides.resize(t.shape.size(), 1);
      return;
    case 9:
      t.dl.dtype = {static_cast<std::uint8_t>(bytes.below(8)), bytes.byte(),
                    static_cast<std::uint16_t>(bytes.below(3) ? bytes.number<std::uint16_t>() : 1)};
      return;
    case 10:
      t.dl.device = {static_cast<DLDeviceType>(bytes.below(16)), static_cast<int>(bytes.odd_number())};
      return;
    case 11:
      t.given = !t.given;
      return;
    case 12: {
      const InputTensor& other = all[bytes.below(all.size())];
      t.dl.data =
          reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(other.dl.data) + bytes.number<std::int16_t>());
      return;
    }
    default: {
      const auto at = reinterpret_cast<std::uintptr_t>(t.dl.data) + 4 * bytes.below(4);
      const auto value = static_cast<std::int32_t>(bytes.odd_number());
      if (arena.contains({at, at + sizeof value})) std::memcpy(reinterpret_cast<void*>(at), &value, sizeof value);
    }
  }
}

}  // namespace flashfit::fuzz
