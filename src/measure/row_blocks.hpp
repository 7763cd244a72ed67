#pragma once
// Rows of a case that a check looks at: all of a small case, a sample of a large one.
#include <cstdint>
#include <vector>

#include "measure/case.hpp"

namespace flashfit::measure {

/// Rows first_row to first_row + rows of one head of one sequence.
struct RowBlock {
  std::int64_t sequence, head, first_row, rows;
};

/// Keys that some row of the block sees.
KeyRange keys_of(const Case& c, const RowBlock& r);

/// What fp64 can do in about `flop`: of the whole case where that is enough, else blocks of rows drawn by `seed`, the
/// first and the last rows of the longest sequence always among them.
std::vector<RowBlock> sampled_rows(const Case& c, double flop, std::uint64_t seed);

}  // namespace flashfit::measure
