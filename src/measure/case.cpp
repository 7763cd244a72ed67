#include "measure/case.hpp"

#include <algorithm>
#include <cmath>

namespace flashfit::measure {
namespace {

using Json = nlohmann::ordered_json;

/// Of one head of one sequence.
struct Seen {
  double pairs = 0;       ///< of a query and a key that it sees
  std::int64_t keys = 0;  ///< that some query sees
};

Seen seen_of(const Case& c, std::size_t s) {
  Seen seen;
  KeyRange all{c.keys(s), 0};
  for (std::int64_t row = 0; row < c.lengths_q[s]; ++row) {
    const KeyRange range = visible_keys(c, s, row);
    if (range.count() == 0) continue;
    seen.pairs += static_cast<double>(range.count());
    all = {std::min(all.first, range.first), std::max(all.last, range.last)};
  }
  seen.keys = std::max<std::int64_t>(0, all.count());
  return seen;
}

}  // namespace

const char* name_of(Memory memory) {
  switch (memory) {
    case Memory::kPackedQkv:
      return "packed_qkv";
    case Memory::kHeadsFirst:
      return "heads_first";
    case Memory::kPaddedRows:
      return "padded_rows";
    case Memory::kUnaligned:
      return "unaligned";
    case Memory::kContiguous:
      break;
  }
  return "contiguous";
}

const char* name_of(BiasKind kind, DType dtype) {
  return kind == BiasKind::kVisible ? "bool" : kind == BiasKind::kF32 ? "fp32" : flashfit::name_of(dtype);
}

KeyRange visible_keys(const Case& c, std::size_t s, std::int64_t row) {
  const std::int64_t keys = c.keys(s), diagonal = row + keys - c.lengths_q[s];
  const std::int64_t right = c.causal ? 0 : c.window_right;
  const std::int64_t first = c.window_left < 0 ? 0 : std::clamp<std::int64_t>(diagonal - c.window_left, 0, keys);
  const std::int64_t last = right < 0 ? keys : std::clamp<std::int64_t>(diagonal + right + 1, 0, keys);
  return {first, std::max(first, last)};
}

float alibi_slope(std::int64_t head, std::int64_t heads) {
  return static_cast<float>(std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(heads)));
}

Work work_of(const Case& c) {
  double pairs = 0, queries = 0, keys = 0;
  Seen seen;
  for (std::size_t s = 0; s < c.lengths_q.size(); ++s) {
    const bool as_before = s > 0 && c.lengths_q[s] == c.lengths_q[s - 1] && c.lengths_k[s] == c.lengths_k[s - 1] &&
                           c.keys(s) == c.keys(s - 1);
    if (!as_before) seen = seen_of(c, s);
    pairs += seen.pairs;
    queries += static_cast<double>(c.lengths_q[s]);
    keys += static_cast<double>(seen.keys);
  }
  pairs *= static_cast<double>(c.heads_q);
  const auto dims = static_cast<double>(c.head_dim + c.head_dim_v);
  const double rows = queries * static_cast<double>(c.heads_q) + keys * static_cast<double>(c.heads_kv);
  Work work{.flop = 2 * pairs * dims, .exp = pairs, .bytes = rows * dims * flashfit::size_of(c.dtype)};
  if (c.bias.kind != BiasKind::kNone)
    work.bytes += static_cast<double>(c.bias_batch() * c.bias_heads() * c.bias_rows() * c.bias_keys()) *
                  bias_bytes(c.bias.kind, c.dtype);
  return work;
}

Json json_of(const Case& c) {
  Json problem = {{"dtype", name_of(c.dtype)},       {"head_dim", c.head_dim}, {"heads_q", c.heads_q},
                  {"heads_kv", c.heads_kv},          {"causal", c.causal},     {"memory", name_of(c.memory)},
                  {"softmax_scale", c.softmax_scale}};
  if (c.head_dim_v != c.head_dim) problem["head_dim_v"] = c.head_dim_v;
  if (c.magnitude != 1) problem["magnitude"] = c.magnitude;
  if (c.magnitude_k != 1) problem["magnitude_k"] = c.magnitude_k;
  if (c.magnitude_v != 1) problem["magnitude_v"] = c.magnitude_v;
  if (c.planted.shift != 0) problem["logit_shift"] = c.planted.shift;
  if (c.planted.trend != 0) problem["logit_trend"] = c.planted.trend;
  if (c.planted.peak != 0) problem["logit_peak"] = c.planted.peak;
  if (c.planted.opposes) problem["opposing_rows"] = true;
  if (c.planted.positive_v) problem["positive_v"] = true;
  if (c.spare_rows != 0) problem["spare_rows"] = c.spare_rows;
  if (c.windowed()) {
    problem["window_left"] = c.window_left;
    problem["window_right"] = c.window_right;
  }
  if (c.softcap > 0) problem["softcap"] = c.softcap;
  if (c.alibi) problem["alibi"] = true;
  if (c.sinks) problem["sinks"] = true;
  if (c.bias.kind != BiasKind::kNone) {
    problem["bias"] = name_of(c.bias.kind, c.dtype);
    problem["bias_shape"] = {c.bias_batch(), c.bias_heads(), c.bias_rows(), c.bias_keys()};
  }
  if (!c.used_k.empty()) problem["seqused_k"] = c.used_k;
  if (c.variable_length) {
    problem["lengths_q"] = c.lengths_q;
    problem["lengths_k"] = c.lengths_k;
  } else {
    problem["batch"] = c.lengths_q.size();
    problem["seqlen_q"] = c.lengths_q[0];
    problem["seqlen_k"] = c.lengths_k[0];
  }
  const Work work = work_of(c);
  return {{"name", c.name},
          {"group", c.group},
          {"stands_for", c.stands_for},
          {"timed", c.timed},
          {"tolerance", c.tolerance},
          {"problem", std::move(problem)},
          {"work", {{"flop", work.flop}, {"exp", work.exp}, {"bytes", work.bytes}}}};
}

}  // namespace flashfit::measure
