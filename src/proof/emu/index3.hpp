#pragma once

namespace flashfit::emu {

/// Coordinates of a block, or the extent of a grid.
struct Index3 {
  int x, y, z;
};

}  // namespace flashfit::emu
