#include "proof/emu/matrix_operand.hpp"

#include <fmt/format.h>

#include <cstring>

namespace flashfit::emu {

std::string MatrixOperand::fault(const SharedWindow& shared) const {
  const MatrixDescriptor& d = descriptor_;
  if (encode(d) != bits_) return fmt::format("descriptor {:#x} has bits set that must be 0", bits_);
  const std::uint32_t start = d.address & ~std::uint32_t{127};
  const std::uint32_t lines = static_cast<std::uint32_t>(pattern_bytes(d.swizzle)) / 128;
  if (d.swizzle == SwizzleMode::kNone && d.base_offset != 0)
    return fmt::format("base offset is {} where nothing is swizzled", d.base_offset);
  // Steps along k stay within the pattern's first line; eight rows further it starts again.
  if (((start >> 7) - d.base_offset) % lines != 0)
    return fmt::format("address {:#x} is {} lines into the pattern of its {}, and base offset is {}", d.address,
                       ((start >> 7) - d.base_offset) % lines, name_of(d.swizzle), d.base_offset);
  std::string wrong;
  for_each_row(0, extent_, [&](std::uint32_t address, int mn, int k) {
    if (wrong.empty() && !shared.holds(address, kRowBytes))
      wrong = fmt::format("element ({}, {}) lies at byte {} of a shared memory of {}", mn, k,
                          static_cast<std::int64_t>(address) - SharedWindow::kBase, shared.bytes);
  });
  return wrong;
}

std::vector<unsigned short> MatrixOperand::read(const SharedWindow& shared, int first, int count, bool k_first) const {
  std::vector<unsigned short> to(static_cast<std::size_t>(count) * kK);
  const std::size_t mn_stride = k_first ? 1 : kK, k_stride = k_first ? static_cast<std::size_t>(count) : 1;
  const std::size_t along = major_ == Major::kK ? k_stride : mn_stride;
  for_each_row(first, count, [&](std::uint32_t address, int mn, int k) {
    unsigned short row[8];
    std::memcpy(row, shared.at(address), sizeof row);
    unsigned short* const at =
        &to[static_cast<std::size_t>(mn - first) * mn_stride + static_cast<std::size_t>(k) * k_stride];
    for (std::size_t i = 0; i < 8; ++i) at[i * along] = row[i];
  });
  return to;
}

}  // namespace flashfit::emu
