#include "measure/report_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace flashfit::results {
namespace {

using Json = nlohmann::ordered_json;

/// The best of a length and head dim, by work.
using ByLength = std::map<std::int64_t, std::size_t>;
using Slice = std::map<std::int64_t, ByLength>;  // by head dim

std::string slice_label(const CaseResult& c) {
  const ResultProblem& p = c.problem;
  std::string label = fmt::format("{}: {}, {}", c.group, p.dtype, p.causal ? "causal" : "full");
  if (p.heads_kv > 0 && p.heads_q != p.heads_kv) label += fmt::format(", {} heads a KV head", p.heads_q / p.heads_kv);
  if (p.seqlen_q != p.seqlen_k) label += fmt::format(", {} new token{}", p.seqlen_q, p.seqlen_q == 1 ? "" : "s");
  if (!p.memory.empty() && p.memory != "contiguous") label += ", " + p.memory;
  if (p.head_dim_v != p.head_dim) label += fmt::format(", values of head dim {}", p.head_dim_v);
  for (const auto& [name, value] : p.options) label += fmt::format(", {} {}", name, value);
  return label;
}

Json point(const CaseResult& c, std::size_t index, const Timing& timing) {
  const double flop = *c.flop;
  return {{"x", c.problem.seqlen_k},
          {"case", index},
          {"us", timing.median_us},
          {"us_interval", {timing.interval_us.low, timing.interval_us.high}},
          {"tflops", tflops_of(flop, timing.median_us)},
          {"tflops_interval", {tflops_of(flop, timing.interval_us.high), tflops_of(flop, timing.interval_us.low)}}};
}

/// flashfit first, then each peer that has a point.
Json series_of(const ResultFile& run, const ByLength& lengths) {
  Json ours = Json::array(), all = Json::array();
  std::vector<std::pair<std::string, Json>> peers;
  for (const auto& [length, index] : lengths) {
    const CaseResult& c = run.cases[index];
    ours.push_back(point(c, index, *c.timing));
    for (const PeerResult& peer : c.peers) {
      if (!peer.timing) continue;
      auto at = std::find_if(peers.begin(), peers.end(), [&](const auto& p) { return p.first == peer.name; });
      if (at == peers.end()) at = peers.emplace(peers.end(), peer.name, Json::array());
      at->second.push_back(point(c, index, *peer.timing));
    }
  }
  all.push_back({{"name", "flashfit"}, {"points", std::move(ours)}});
  for (auto& [name, points] : peers) all.push_back({{"name", name}, {"points", std::move(points)}});
  return all;
}

/// A ceiling of the run: {value, ...}. Nothing where it is not known.
std::optional<double> ceiling(const Json& ceilings, const char* name, const std::string& dtype = "") {
  const Json* at = ceilings.is_object() && ceilings.contains(name) ? &ceilings.at(name) : nullptr;
  if (at != nullptr && !dtype.empty()) at = at->is_object() && at->contains(dtype) ? &at->at(dtype) : nullptr;
  if (at == nullptr || !at->is_object() || !at->contains("value") || !at->at("value").is_number()) return std::nullopt;
  const double value = at->at("value").get<double>();
  return value > 0 ? std::optional(value) : std::nullopt;
}

Json flat_roof(const std::string& name, const char* kind, double from, double to, double height) {
  return {{"name", name}, {"kind", kind}, {"points", {{{"x", from}, {"y", height}}, {{"x", to}, {"y", height}}}}};
}

}  // namespace

Json speed_slices(const ResultFile& run) {
  std::vector<std::pair<std::string, Slice>> slices;
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    const CaseResult& c = run.cases[i];
    if (!c.timing || !c.flop || *c.flop <= 0 || c.problem.seqlen_k <= 0) continue;
    const std::string label = slice_label(c);
    auto at = std::find_if(slices.begin(), slices.end(), [&](const auto& s) { return s.first == label; });
    if (at == slices.end()) at = slices.emplace(slices.end(), label, Slice{});
    const auto [place, fresh] = at->second[c.problem.head_dim].try_emplace(c.problem.seqlen_k, i);
    if (!fresh && *c.flop > *run.cases[place->second].flop) place->second = i;
  }
  Json out = Json::array();
  for (const auto& [label, slice] : slices) {
    Json panels = Json::array();
    for (const auto& [head_dim, lengths] : slice)
      if (lengths.size() > 1) panels.push_back({{"head_dim", head_dim}, {"series", series_of(run, lengths)}});
    if (!panels.empty()) out.push_back({{"label", label}, {"panels", std::move(panels)}});
  }
  return out;
}

Json roofline(const ResultFile& run) {
  const Json ceilings = run.json.value("ceilings", Json());
  const auto memory = ceiling(ceilings, "memory_gb_per_s"), exp = ceiling(ceilings, "exp_g_per_s");
  Json points = Json::array();
  double from = 1e300, to = 0;
  std::set<std::string> dtypes;
  std::map<std::int64_t, std::string> head_dims;  // of q and v together: how they are called
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    const CaseResult& c = run.cases[i];
    if (!c.timing || !c.flop || !c.bytes || *c.flop <= 0 || *c.bytes <= 0) continue;
    const double intensity = *c.flop / *c.bytes;
    from = std::min(from, intensity);
    to = std::max(to, intensity);
    dtypes.insert(c.problem.dtype);
    const std::int64_t d = c.problem.head_dim, dv = c.problem.head_dim_v;
    head_dims[d + dv] = d == dv ? fmt::format("{}", d) : fmt::format("{}x{}", d, dv);
    points.push_back({{"x", intensity}, {"y", tflops_of(*c.flop, c.timing->median_us)}, {"case", i}});
  }
  if (points.empty() || !memory) return nullptr;
  from /= 2;
  to *= 2;
  Json roofs = Json::array();
  double highest = 0;
  for (const std::string& dtype : dtypes) {
    const auto tensor = ceiling(ceilings, "tensor_tflops", dtype);
    if (!tensor) continue;
    highest = std::max(highest, *tensor);
    roofs.push_back(flat_roof("tensor cores, " + dtype, "tensor", from, to, *tensor));
  }
  // Two products of 2 head_dim FLOP each are done for an exponential.
  if (exp)
    for (const auto& [dims, name] : head_dims)
      roofs.push_back(flat_roof("exp, head dim " + name, "exp", from, to, *exp * 2 * static_cast<double>(dims) / 1e3));
  const double end = highest > 0 ? std::clamp(highest * 1e3 / *memory, from, to) : to;
  roofs.push_back({{"name", "memory"},
                   {"kind", "memory"},
                   {"points", {{{"x", from}, {"y", from * *memory / 1e3}}, {{"x", end}, {"y", end * *memory / 1e3}}}}});
  return {{"roofs", std::move(roofs)}, {"points", std::move(points)}};
}

}  // namespace flashfit::results
