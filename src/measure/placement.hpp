#pragma once
// Where a case's tensors lie in one piece of memory, on a CPU or a GPU. Bytes that no element owns are poison: red
// zones before and after every tensor, gaps between rows.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "measure/cases.hpp"

namespace flashfit::measure {

inline constexpr unsigned char kPoison = 0xff;  ///< in every byte: a NaN in fp16, bf16 and fp32

/// [batch, row, head, head_dim]; variable length has one batch of all rows. Strides in elements; the last one is 1.
struct Place {
  std::size_t offset = 0;  ///< bytes from the memory's start to the first element; a multiple of 16
  std::int64_t batch = 0, rows = 0, heads = 0, dim = 0;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;
  std::int64_t elements() const { return batch * rows * heads * dim; }
  /// Of (b, row, head, 0), in elements from the first one.
  std::int64_t at(std::int64_t b, std::int64_t row, std::int64_t head) const {
    return b * batch_stride + row * row_stride + head * head_stride;
  }
};

struct Placement {
  Place q, k, v, out;
  std::size_t lse = 0;  ///< offset of fp32 [batch, heads, rows]
  std::int64_t lse_count = 0;
  std::size_t cu_q = 0, cu_k = 0;  ///< offsets of int32 [sequences + 1]; variable length alone
  // Of what the case has: a bias, whose place has its axes' own lengths (1 of a shared one) and bias_size bytes an
  // element, fp32 [heads_q] twice, int32 [sequences].
  Place bias;
  std::size_t bias_size = 0, alibi = 0, sinks = 0, used_k = 0;
  std::size_t results = 0;  ///< from here to the end: out and lse between red zones, and nothing else
  std::size_t bytes = 0;    ///< a multiple of 256
};
Placement place(const Case& c);

/// Rows before each sequence, and all of them.
std::vector<std::int32_t> offsets_of(const std::vector<std::int64_t>& lengths);

/// The first byte of `results` (the memory from Placement::results on) that is outside of out (and lse) and not poison,
/// in words; or the first element of out that was not written; or "".
std::string misplaced_writes(const Case& c, const Placement& p, std::span<const std::byte> results, bool with_lse);

}  // namespace flashfit::measure
