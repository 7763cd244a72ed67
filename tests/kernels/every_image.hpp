#pragma once
// Images that no compiler made, so that plans do not depend on what a build carries.
#include <vector>

#include "core/launch/image.hpp"

namespace flashfit::test {

/// registers: of machine code; PTX has none.
inline Image uncompiled_image(const KernelRow& row, const Target& target, int registers) {
  return {.row = &row,
          .target = target,
          .registers = target.kind == Target::Kind::kPtx ? 0 : registers,
          .local_bytes = 0,
          .bytes = 90000,
          .entry = "entry"};
}

/// Each of `rows`, which outlive the images, for each of its targets. registers(row): of its machine code.
template <class Rows, class Registers>
std::vector<Image> every_image(const Rows& rows, Registers registers) {
  std::vector<Image> images;
  for (const KernelRow& row : rows)
    for (const Target& target : row.targets) images.push_back(uncompiled_image(row, target, registers(row)));
  return images;
}

}  // namespace flashfit::test
