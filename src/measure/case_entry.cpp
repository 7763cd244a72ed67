#include "measure/case_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "measure/case_rules.hpp"

namespace flashfit::measure {
namespace {

using Json = nlohmann::ordered_json;
using Lengths = std::vector<std::int64_t>;

constexpr const char* kKeys[] = {
    "label",         "stands_for",    "batch",       "seqlen_q",    "seqlen_k",     "lengths_q",   "lengths_k",
    "seqused_k",     "tokens",        "hidden",      "windows",     "shifted",      "heads",       "heads_kv",
    "head_dim",      "head_dim_v",    "dtype",       "causal",      "heads_per_kv", "memory",      "tolerance",
    "magnitude",     "softcap",       "alibi",       "sinks",       "bias",         "bias_axes",   "window_left",
    "window_right",  "softmax_scale", "magnitude_k", "magnitude_v", "logit_shift",  "logit_trend", "logit_peak",
    "opposing_rows", "positive_v",    "spare_rows"};
constexpr const char* kLists[] = {"lengths_q", "lengths_k", "seqused_k"};

template <class T>
T get(const Json& entry, const char* key, T otherwise) {
  return entry.contains(key) ? entry.at(key).get<T>() : std::move(otherwise);
}

template <class Named, std::size_t N>
Named named(const Json& entry, const char* key, const Named (&all)[N], std::optional<Named> otherwise = {}) {
  if (!entry.contains(key) && otherwise) return *otherwise;
  const auto text = entry.at(key).get<std::string>();
  for (const Named one : all)
    if (text == name_of(one)) return one;
  throw CaseMistake(fmt::format("{} is '{}', which is none", key, text));
}

void set_lengths(Case& c, const Json& e) {
  c.variable_length = e.contains("lengths_q") || e.contains("windows");
  if (e.contains("windows")) {
    const Json& w = e.at("windows");
    c.lengths_q = c.lengths_k = window_lengths({w.at("frames"), w.at("height"), w.at("width")}, e.at("shifted"));
  } else if (c.variable_length) {
    c.lengths_q = e.at("lengths_q").get<Lengths>();
    c.lengths_k = get(e, "lengths_k", c.lengths_q);
  } else {
    const auto queries = e.at("seqlen_q").get<std::int64_t>();
    const auto batch =
        e.contains("tokens") ? e.at("tokens").get<std::int64_t>() / queries : get(e, "batch", std::int64_t{1});
    c.lengths_q.assign(batch, queries);
    c.lengths_k.assign(batch, get(e, "seqlen_k", queries));
  }
  if (!e.contains("seqused_k")) return;
  const Json& used = e.at("seqused_k");
  if (used.is_array())
    c.used_k = used.get<Lengths>();
  else if (used == "falling")
    c.used_k = falling_lengths(c.lengths_k);
  else
    throw CaseMistake(fmt::format("seqused_k is {}, which is neither lengths nor \"falling\"", used.dump()));
}

constexpr DType kTypes[] = {DType::kF16, DType::kBF16, DType::kF32};
constexpr Memory kMemories[] = {Memory::kContiguous, Memory::kPackedQkv, Memory::kHeadsFirst, Memory::kPaddedRows,
                                Memory::kUnaligned};

Bias read_bias(const Json& e) {
  Bias bias;
  if (!e.contains("bias")) return bias;
  const auto kind = e.at("bias").get<std::string>();
  if (kind == "none") return bias;
  bias.kind = kind == "bool"     ? BiasKind::kVisible
              : kind == "fp32"   ? BiasKind::kF32
              : kind == "like_q" ? BiasKind::kLikeQ
                                 : throw CaseMistake(fmt::format("bias is '{}', which is none", kind));
  const auto axes = get(e, "bias_axes", std::string("bhqk"));
  for (const char axis : axes)
    if (std::string_view("bhqk").find(axis) == std::string_view::npos)
      throw CaseMistake(fmt::format("bias_axes is '{}', which is not some of bhqk", axes));
  const auto shared = [&](char axis) { return axes.find(axis) == std::string::npos; };
  bias.shared_batch = shared('b');
  bias.shared_heads = shared('h');
  bias.shared_rows = shared('q');
  bias.shared_keys = shared('k');
  return bias;
}

/// "3+0+5", or of many lengths "32 of 99 to 2503".
std::string join(const Lengths& lengths) {
  constexpr std::size_t kAllNamed = 12;
  if (lengths.size() > kAllNamed) {
    const auto [least, most] = std::ranges::minmax(lengths);
    return fmt::format("{} of {}{}", lengths.size(), least, least == most ? "" : fmt::format(" to {}", most));
  }
  std::string text;
  for (const std::int64_t n : lengths) {
    if (!text.empty()) text.push_back('+');
    text += std::to_string(n);
  }
  return text;
}

/// "B2 S127x300": what lengths are called in a case's name.
std::string shape_name(const Case& c, const Json& e) {
  if (e.contains("windows")) {
    const Json& w = e.at("windows");
    const auto frames = w.at("frames").get<int>();
    return fmt::format("SeedVR2 {} frame{} {}x{}, {} {} windows", frames, frames == 1 ? "" : "s",
                       w.at("height").get<int>(), w.at("width").get<int>(), c.lengths_q.size(),
                       e.at("shifted").get<bool>() ? "shifted" : "regular");
  }
  const bool self = c.lengths_q == c.lengths_k;
  if (c.variable_length) return fmt::format("varlen {}{}", join(c.lengths_q), self ? "" : " keys " + join(c.lengths_k));
  return fmt::format("B{} S{}{}", c.lengths_q.size(), c.lengths_q[0], self ? "" : fmt::format("x{}", c.lengths_k[0]));
}

/// What of a case is not as usual, " window 128,0 softcap 50".
std::string option_names(const Case& c, const Json& e) {
  std::string text;
  if (c.memory != Memory::kContiguous) text += fmt::format(" {}", name_of(c.memory));
  if (c.softmax_scale != 0) text += fmt::format(" scale {}", c.softmax_scale);
  if (c.magnitude != 1) text += fmt::format(" q x {}", c.magnitude);
  if (c.magnitude_k != 1) text += fmt::format(" k x {}", c.magnitude_k);
  if (c.magnitude_v != 1) text += fmt::format(" v x {}", c.magnitude_v);
  if (c.planted.shift != 0) text += fmt::format(" logits {:+}{}", c.planted.shift, c.planted.opposes ? " and -" : "");
  if (c.planted.trend != 0) text += fmt::format(" trend {:+}", c.planted.trend);
  if (c.planted.peak != 0) text += fmt::format(" peaks {}", c.planted.peak);
  if (c.planted.positive_v) text += " v>=0";
  if (c.spare_rows != 0) text += fmt::format(" spare {}", c.spare_rows);
  if (c.windowed())
    text += c.causal ? fmt::format(" window {}", c.window_left)
                     : fmt::format(" window {},{}", c.window_left, c.window_right);
  if (c.softcap > 0) text += fmt::format(" softcap {}", c.softcap);
  if (c.alibi) text += " alibi";
  if (c.sinks) text += " sinks";
  if (c.bias.kind != BiasKind::kNone)
    text +=
        fmt::format(" bias {} {}{}{}{}", name_of(c.bias.kind, c.dtype), c.bias.shared_batch ? '1' : 'B',
                    c.bias.shared_heads ? '1' : 'H', c.bias.shared_rows ? '1' : 'Q', c.bias.shared_keys ? '1' : 'K');
  if (!c.used_k.empty())
    text += " used " + (e.contains("seqused_k") && e.at("seqused_k").is_string() ? e.at("seqused_k").get<std::string>()
                                                                                 : join(c.used_k));
  return text;
}

void judge(const Case& c) {
  if (c.heads_q < 1 || c.heads_kv < 1 || c.head_dim < 1 || c.head_dim_v < 1 || c.heads_q % c.heads_kv != 0)
    throw CaseMistake(
        fmt::format("{} heads over {} of head_dim {} make no problem", c.heads_q, c.heads_kv, c.head_dim));
  if (c.lengths_q.empty() || c.lengths_q.size() != c.lengths_k.size())
    throw CaseMistake(fmt::format("{} lengths of queries and {} of keys", c.lengths_q.size(), c.lengths_k.size()));
  if (c.memory == Memory::kPackedQkv &&
      (c.lengths_q != c.lengths_k || c.heads_q != c.heads_kv || c.head_dim != c.head_dim_v))
    throw CaseMistake("packed_qkv needs as many keys as queries, as many heads, and one head_dim");
  if (c.memory == Memory::kHeadsFirst && c.variable_length) throw CaseMistake("heads_first is for dense tensors");
  if (c.bias.kind != BiasKind::kNone && c.variable_length) throw CaseMistake("a bias is for dense tensors");
  if (!c.used_k.empty() && c.used_k.size() != c.lengths_k.size())
    throw CaseMistake(fmt::format("{} lengths of keys and {} seqused_k", c.lengths_k.size(), c.used_k.size()));
  for (std::size_t s = 0; s < c.used_k.size(); ++s)
    if (c.used_k[s] < 0 || c.used_k[s] > c.lengths_k[s])
      throw CaseMistake(fmt::format("seqused_k is {} of {} keys", c.used_k[s], c.lengths_k[s]));
  if (c.window_left < -1 || c.window_right < -1 || c.softcap < 0)
    throw CaseMistake("a window is -1 or more, a softcap 0 or more");
  if (c.planted.columns() > c.head_dim || c.planted.peak < 0)
    throw CaseMistake(fmt::format("logits that take {} columns of {} cannot be planted, nor a peak below 0",
                                  c.planted.columns(), c.head_dim));
  if (c.spare_rows != 0 && (!c.variable_length || c.spare_rows < 0))
    throw CaseMistake("spare rows, 0 or more, are for variable length");
}

}  // namespace

bool takes_a_list(const std::string& key) {
  return std::find(std::begin(kLists), std::end(kLists), key) != std::end(kLists);
}

Case read_case(const Json& e) {
  for (const auto& [key, value] : e.items())
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
      throw CaseMistake(fmt::format("the key '{}' is not known", key));
  Case c;
  set_lengths(c, e);
  c.dtype = named(e, "dtype", kTypes);
  c.head_dim = e.at("head_dim");
  c.head_dim_v = get(e, "head_dim_v", c.head_dim);
  c.heads_q =
      e.contains("hidden") ? e.at("hidden").get<std::int64_t>() / c.head_dim : e.at("heads").get<std::int64_t>();
  c.heads_kv =
      e.contains("heads_per_kv") ? c.heads_q / e.at("heads_per_kv").get<std::int64_t>() : get(e, "heads_kv", c.heads_q);
  c.causal = get(e, "causal", false);
  c.memory = named(e, "memory", kMemories, std::optional(Memory::kContiguous));
  c.softmax_scale = get(e, "softmax_scale", 0.0);
  c.magnitude = get(e, "magnitude", 1.0);
  c.magnitude_k = get(e, "magnitude_k", 1.0);
  c.magnitude_v = get(e, "magnitude_v", 1.0);
  c.planted = {.shift = get(e, "logit_shift", 0.0),
               .trend = get(e, "logit_trend", 0.0),
               .peak = get(e, "logit_peak", 0.0),
               .opposes = get(e, "opposing_rows", false),
               .positive_v = get(e, "positive_v", false)};
  c.spare_rows = get(e, "spare_rows", std::int64_t{0});
  c.tolerance = get(e, "tolerance", 2.0);
  c.window_left = get(e, "window_left", std::int64_t{-1});
  c.window_right = get(e, "window_right", std::int64_t{-1});
  c.softcap = get(e, "softcap", 0.0);
  c.alibi = get(e, "alibi", false);
  c.sinks = get(e, "sinks", false);
  c.bias = read_bias(e);
  return c;
}

void name_case(Case& c, const std::string& group, const Json& e) {
  if (c.head_dim_v == 0) c.head_dim_v = c.head_dim;
  judge(c);
  const std::string heads_kv = c.heads_kv != c.heads_q ? fmt::format("/{}", c.heads_kv) : "",
                    dim_v = c.head_dim_v != c.head_dim ? fmt::format("x{}", c.head_dim_v) : "",
                    label = e.contains("label") ? e.at("label").get<std::string>() + " " : "";
  c.group = group;
  c.name = fmt::format("{}/{}{} H{}{} D{}{} {} {}{}", group, label, shape_name(c, e), c.heads_q, heads_kv, c.head_dim,
                       dim_v, name_of(c.dtype), c.causal ? "causal" : "full", option_names(c, e));
  if (c.softmax_scale == 0) c.softmax_scale = 1 / std::sqrt(static_cast<double>(c.head_dim));
}

}  // namespace flashfit::measure
