#pragma once
// One case of the list: a problem, whose need it is, what it must at least cost.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/types.hpp"
#include "kernels/attention/problem.hpp"
#include "proof/reference/planted_logits.hpp"

namespace flashfit::measure {

/// How q, k and v lie in memory: docs/results.md.
enum class Memory : unsigned char { kContiguous, kPackedQkv, kHeadsFirst, kPaddedRows, kUnaligned };
const char* name_of(Memory memory);

/// A bias of scores, [batch, heads_q, seqlen_q, seqlen_k]; an axis that is shared has length 1.
struct Bias {
  BiasKind kind = BiasKind::kNone;
  bool shared_batch = false, shared_heads = false, shared_rows = false, shared_keys = false;
};
/// "bool", "fp32" or the name of q's dtype.
const char* name_of(BiasKind kind, DType dtype);

struct Case {
  std::string name;        ///< unique: "grid/B8 S2048 H16 D128 bf16 causal"
  std::string group;       ///< "grid"
  std::string stands_for;  ///< in words, whose need it is
  bool timed = true;       ///< false: for correctness alone
  DType dtype = DType::kF16;
  std::int64_t head_dim = 0, head_dim_v = 0;  ///< of q and k; of v and out
  std::int64_t heads_q = 0, heads_kv = 0;
  bool causal = false, variable_length = false;
  std::vector<std::int64_t> lengths_q, lengths_k;  ///< of each sequence; dense: all alike
  std::vector<std::int64_t> used_k;                ///< of its keys those that are there; empty: all
  Memory memory = Memory::kContiguous;
  double softmax_scale = 0;  ///< as it is used: 1 / sqrt(head_dim) where the list says nothing
  double magnitude = 1;      ///< standard deviation of q
  double magnitude_k = 1, magnitude_v = 1;
  reference::PlantedLogits planted;
  std::int64_t spare_rows = 0;  ///< variable length: rows of all tensors after the last sequence, which are nobody's
  double tolerance = 2;         ///< how many times the plain computation's error is allowed (docs/numerics.md)
  std::int64_t window_left = -1, window_right = -1;  ///< ForwardProblem's
  double softcap = 0;                                ///< 0: none
  bool alibi = false, sinks = false;
  Bias bias;

  bool windowed() const { return window_left >= 0 || window_right >= 0; }
  /// Keys of sequence `s` that are there.
  std::int64_t keys(std::size_t s) const { return used_k.empty() ? lengths_k[s] : used_k[s]; }
  /// Standard deviation of q (0), k (1) or v (2).
  double magnitude_of(int tensor) const { return tensor == 0 ? magnitude : tensor == 1 ? magnitude_k : magnitude_v; }
  /// Length of the bias's axes.
  std::int64_t bias_batch() const { return bias.shared_batch ? 1 : static_cast<std::int64_t>(lengths_q.size()); }
  std::int64_t bias_heads() const { return bias.shared_heads ? 1 : heads_q; }
  std::int64_t bias_rows() const { return bias.shared_rows ? 1 : lengths_q[0]; }
  std::int64_t bias_keys() const { return bias.shared_keys ? 1 : lengths_k[0]; }
};

/// Keys first to last - 1 of a sequence.
struct KeyRange {
  std::int64_t first, last;
  std::int64_t count() const { return last - first; }
};
/// What the mask lets query `row` of sequence `s` see, before a bias hides any.
KeyRange visible_keys(const Case& c, std::size_t s, std::int64_t row);

/// ALiBi's slope of a head, 2^(-8 (head + 1) / heads), as Press et al. (2022) give it for powers of two.
float alibi_slope(std::int64_t head, std::int64_t heads);

/// What no implementation can do without. What a bias hides counts as visible: nobody knows it beforehand.
struct Work {
  double flop = 0;   ///< two products of the visible pairs, 2 a multiply-add
  double exp = 0;    ///< visible pairs
  double bytes = 0;  ///< each input that some query sees read once, each output written once
};
Work work_of(const Case& c);

/// The keys of docs/results.md that say what a case is.
nlohmann::ordered_json json_of(const Case& c);

}  // namespace flashfit::measure
