#pragma once
// Tensor maps under the emulator: its own encoding of the same bytes, and the copies of boxes that they describe.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/error.hpp"
#include "kernels/layout/tensor_map.hpp"
#include "kernels/layout/tensor_map_spec.hpp"

namespace flashfit::emu {

/// The map of `spec` for a kernel under the emulator. Errors: those of kernels/layout/tensor_map_rules.hpp; and
/// swizzled boxes whose rows are narrower than the pattern's, since it is documented nowhere where those lie.
Result<TensorMap> encode_tensor_map(const TensorMapSpec& spec);

/// What encode_tensor_map() wrote, or nothing if these bytes are not its.
std::optional<TensorMapSpec> decode_tensor_map(const TensorMap& map);

/// One box between global and shared memory, where it starts with the swizzle's pattern.
class BoxCopy {
 public:
  using Coordinates = std::array<int, 5>;  ///< of the box's first element, innermost first; may lie outside

  BoxCopy(const TensorMapSpec& spec, const Coordinates& at) : spec_(spec), at_(at) {}

  /// The part of a row of the box that lies inside the tensor: empty if bytes is 0.
  struct Row {
    std::uintptr_t address;      ///< of its first byte
    std::size_t skipped, bytes;  ///< bytes of the box's row before it, and of itself
  };
  std::uint32_t rows() const { return spec_.box_bytes() / spec_.inner_bytes(); }
  Row row(std::uint32_t i) const;

  /// Global to shared: whole rows, with the map's filling outside the tensor.
  void load(std::byte* shared) const;
  /// Shared to global: what lies inside the tensor.
  void store(const std::byte* shared) const;
  /// The same, added to what is there, rounded to nearest even in the map's type.
  void reduce_add(const std::byte* shared) const;

 private:
  /// Calls each(to, from, bytes) for the parts of rows that lie inside, gathered from `shared`.
  template <class Each>
  void for_each_part(const std::byte* shared, Each each) const;
  std::size_t chunk(std::uint32_t row, std::uint32_t byte) const {
    return swizzled(row * spec_.inner_bytes() + byte, spec_.swizzle);
  }

  TensorMapSpec spec_;
  Coordinates at_;
};

}  // namespace flashfit::emu
