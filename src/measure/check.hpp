#pragma once
// Is a result right: against fp64, as docs/numerics.md bounds it, on all rows of a small case and a sample of a large
// one's; every element of it was written, and nothing around it.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "measure/cases.hpp"
#include "measure/placement.hpp"
#include "measure/row_blocks.hpp"

namespace flashfit::measure {

struct Verdict {
  std::string message;          ///< "" if right; else the element, what it is and should be
  double error = 0, bound = 0;  ///< of out: largest absolute error, and what it was held to
  double lse_error = 0, lse_bound = 0;
};

inline constexpr double kCheckFlop = 4e7;  ///< a tenth of a second of fp64 on one core

/// Of a call on what fill_on_host() writes for `seed`; `results` is the memory from Placement::results on. A call
/// without LSE must leave its memory alone.
Verdict check(const Case& c, const Placement& p, std::uint64_t seed, std::span<const std::byte> results, bool with_lse,
              double flop = kCheckFlop);

}  // namespace flashfit::measure
