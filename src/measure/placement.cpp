#include "measure/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace flashfit::measure {
namespace {

constexpr std::size_t kLine = 256;  // as the driver aligns memory; a red zone is one or more

std::size_t lines(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

/// A tensor of its own; `bytes` grows by it and the red zone after it.
Place lay(const Case& c, const std::vector<std::int64_t>& lengths, std::int64_t heads, std::int64_t dim,
          std::size_t& bytes) {
  Place p;
  p.batch = c.variable_length ? 1 : static_cast<std::int64_t>(lengths.size());
  p.rows = c.variable_length ? std::accumulate(lengths.begin(), lengths.end(), c.spare_rows) : lengths[0];
  p.heads = heads;
  p.dim = dim;
  p.offset = bytes;
  const bool padded = c.memory == Memory::kPaddedRows, unaligned = c.memory == Memory::kUnaligned;
  p.head_stride = padded ? p.dim + 8 : unaligned ? p.dim + 1 : p.dim;
  p.row_stride = heads * p.head_stride + (padded ? 16 : unaligned ? 3 : 0);
  if (c.memory == Memory::kHeadsFirst) {
    p.row_stride = p.dim;
    p.head_stride = p.rows * p.dim;
  }
  p.batch_stride = c.memory == Memory::kHeadsFirst ? heads * p.head_stride : p.rows * p.row_stride;
  bytes += lines(static_cast<std::size_t>(p.batch * p.batch_stride * size_of(c.dtype))) + kLine;
  return p;
}

/// q, k and v side by side in every row.
void lay_packed(const Case& c, Placement& p, std::size_t& bytes) {
  Case plain = c;
  plain.memory = Memory::kContiguous;
  p.q = lay(plain, c.lengths_q, 3 * c.heads_q, c.head_dim, bytes);
  p.q.heads = c.heads_q;
  p.k = p.v = p.q;
  p.k.offset += static_cast<std::size_t>(c.heads_q * c.head_dim * size_of(c.dtype));
  p.v.offset += static_cast<std::size_t>(2 * c.heads_q * c.head_dim * size_of(c.dtype));
}

/// A bias and the small tensors that the case has, red zones between them.
void lay_options(const Case& c, Placement& p, std::size_t& bytes) {
  const auto small = [&](bool there, std::size_t count) {
    const std::size_t at = bytes;
    if (there) bytes += lines(count * sizeof(float)) + kLine;
    return at;
  };
  p.alibi = small(c.alibi, static_cast<std::size_t>(c.heads_q));
  p.sinks = small(c.sinks, static_cast<std::size_t>(c.heads_q));
  p.used_k = small(!c.used_k.empty(), c.used_k.size());
  if (c.bias.kind == BiasKind::kNone) return;
  p.bias_size = bias_bytes(c.bias.kind, c.dtype);
  p.bias = {
      .offset = bytes, .batch = c.bias_batch(), .rows = c.bias_rows(), .heads = c.bias_heads(), .dim = c.bias_keys()};
  p.bias.row_stride = p.bias.dim;
  p.bias.head_stride = p.bias.rows * p.bias.row_stride;
  p.bias.batch_stride = p.bias.heads * p.bias.head_stride;
  bytes += lines(static_cast<std::size_t>(p.bias.elements()) * p.bias_size) + kLine;
}

/// The first of `count` elements that nobody wrote, or `count`. Results have up to 10^9 elements.
template <class Bits>
std::int64_t first_poisoned(const std::byte* at, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    Bits bits = 0;
    std::memcpy(&bits, at + i * static_cast<std::int64_t>(sizeof(bits)), sizeof(bits));
    if (bits == static_cast<Bits>(~Bits{0})) return i;
  }
  return count;
}
std::int64_t first_poisoned(const std::byte* at, std::int64_t count, DType dtype) {
  return size_of(dtype) == 2 ? first_poisoned<std::uint16_t>(at, count) : first_poisoned<std::uint32_t>(at, count);
}

}  // namespace

Placement place(const Case& c) {
  Placement p;
  std::size_t bytes = kLine;
  if (c.memory == Memory::kPackedQkv) {
    lay_packed(c, p, bytes);
  } else {
    p.q = lay(c, c.lengths_q, c.heads_q, c.head_dim, bytes);
    p.k = lay(c, c.lengths_k, c.heads_kv, c.head_dim, bytes);
    p.v = lay(c, c.lengths_k, c.heads_kv, c.head_dim_v, bytes);
  }
  if (c.variable_length) {
    p.cu_q = bytes;
    p.cu_k = bytes + lines((c.lengths_q.size() + 1) * sizeof(std::int32_t));
    bytes = p.cu_k + lines((c.lengths_k.size() + 1) * sizeof(std::int32_t));
  }
  lay_options(c, p, bytes);
  p.results = bytes;
  bytes += kLine;
  Case unpacked = c;
  if (c.memory == Memory::kPackedQkv) unpacked.memory = Memory::kContiguous;
  p.out = lay(unpacked, c.lengths_q, c.heads_q, c.head_dim_v, bytes);
  p.lse = bytes;
  p.lse_count = p.out.batch * p.out.rows * p.out.heads;
  p.bytes = bytes + lines(static_cast<std::size_t>(p.lse_count) * sizeof(float)) + kLine;
  return p;
}

std::vector<std::int32_t> offsets_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int32_t> all{0};
  for (const std::int64_t n : lengths) all.push_back(all.back() + static_cast<std::int32_t>(n));
  return all;
}

std::string misplaced_writes(const Case& c, const Placement& p, std::span<const std::byte> results, bool with_lse) {
  const auto size = static_cast<std::size_t>(size_of(c.dtype));
  const auto first_written = [&](std::size_t begin, std::size_t end) {
    const auto at = std::find_if(results.begin() + static_cast<std::ptrdiff_t>(begin),
                                 results.begin() + static_cast<std::ptrdiff_t>(end),
                                 [](std::byte x) { return x != std::byte{kPoison}; });
    return static_cast<std::size_t>(at - results.begin());
  };
  const auto outside = [&](std::size_t at) {
    return fmt::format("byte {} from out's first, which is outside of {}, was written",
                       static_cast<std::ptrdiff_t>(at + p.results) - static_cast<std::ptrdiff_t>(p.out.offset),
                       with_lse ? "out and lse" : "out");
  };
  // Rows of heads in the order of memory; between them lie gaps.
  const bool heads_first = p.out.head_stride > p.out.row_stride;
  const std::int64_t slow = heads_first ? p.out.heads : p.out.rows, fast = heads_first ? p.out.rows : p.out.heads;
  std::size_t done = 0;
  for (std::int64_t i = 0; i < p.out.batch * slow * fast; ++i) {
    const std::int64_t b = i / (slow * fast), outer = i / fast % slow, inner = i % fast;
    const std::int64_t row = heads_first ? inner : outer, head = heads_first ? outer : inner;
    if (row >= p.out.rows - c.spare_rows) continue;  // nobody's, as gaps are
    const std::size_t begin = p.out.offset - p.results + static_cast<std::size_t>(p.out.at(b, row, head)) * size;
    if (const std::size_t at = first_written(done, begin); at != begin) return outside(at);
    done = begin + static_cast<std::size_t>(p.out.dim) * size;
    if (const std::int64_t d = first_poisoned(&results[begin], p.out.dim, c.dtype); d != p.out.dim)
      return fmt::format("out of sequence {}, row {}, head {}, dim {} was not written", b, row, head, d);
  }
  const std::size_t lse = p.lse - p.results,
                    lse_end = with_lse ? lse + static_cast<std::size_t>(p.lse_count) * sizeof(float) : lse;
  if (const std::size_t at = first_written(done, lse); at != lse) return outside(at);
  if (const std::size_t at = first_written(lse_end, results.size()); at != results.size()) return outside(at);
  for (std::int64_t head = 0; with_lse && c.spare_rows > 0 && head < p.out.heads; ++head) {
    const auto end = lse + static_cast<std::size_t>((head + 1) * p.out.rows) * sizeof(float),
               begin = end - static_cast<std::size_t>(c.spare_rows) * sizeof(float);
    if (first_written(begin, end) != end)
      return fmt::format("lse of head {} was written after the last sequence", head);
  }
  return "";
}

}  // namespace flashfit::measure
