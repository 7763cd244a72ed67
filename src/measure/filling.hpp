#pragma once
// What a call reads: random numbers by their place and a seed, so that a check makes only the rows that it looks at.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "measure/case.hpp"
#include "measure/placement.hpp"

namespace flashfit::measure {

/// What `seed` fills by random numbers.
enum Filled : int { kQ, kK, kV, kBias, kSinks };

/// Value (b, row, head, d) of one of them, before it is rounded to its dtype. A bool is 0 or 1.
float value_of(const Case& c, const Place& p, Filled tensor, std::uint64_t seed, std::int64_t b, std::int64_t row,
               std::int64_t head, std::int64_t d);
/// A head's sink.
float sink_of(std::uint64_t seed, std::int64_t head);

/// Rounds to the dtype, to nearest even.
void store(std::byte* at, DType dtype, float x);
/// As an element of the case's bias holds it.
void store_bias(std::byte* at, const Case& c, float x);

/// Where one of q, k, v and the bias lies.
const Place& place_of(const Placement& p, Filled tensor);
/// The small tensors of lengths and heads: where each begins, and its bytes.
struct SmallTensor {
  std::size_t offset;
  std::vector<std::byte> bytes;
};
std::vector<SmallTensor> small_tensors(const Case& c, const Placement& p, std::uint64_t seed);

/// Writes all that a call reads.
void fill_on_host(const Case& c, const Placement& p, std::uint64_t seed, std::byte* memory);

}  // namespace flashfit::measure
