// What follows from a run: rates, costs, verdicts over peers.
#include <algorithm>
#include <cmath>

#include "measure/ratio.hpp"
#include "measure/report.hpp"
#include "measure/report_charts.hpp"
#include "measure/report_profile.hpp"

namespace flashfit::results {
namespace {

using Json = nlohmann::ordered_json;

Json without_samples(const Json& json) {
  if (json.is_array()) {
    Json out = Json::array();
    for (const Json& element : json) out.push_back(without_samples(element));
    return out;
  }
  if (!json.is_object()) return json;
  Json out = Json::object();
  for (const auto& [key, value] : json.items())
    if (key != "samples_us" && key != "samples") out[key] = without_samples(value);
  return out;
}

/// flashfit's time over the peer's, as wide as the machine's noise at least.
Verdict verdict_over(const PeerResult& peer, const ResultFile& run, double margin) {
  const Ratio ratio = widened({*peer.ratio, *peer.ratio_interval}, run.noise.value_or(margin));
  return judge({1 / ratio.interval.high, 1 / ratio.interval.low}, margin);
}

Json figures_of(const CaseResult& c, const ReportRun& run, double margin) {
  Json figures = Json::object();
  if (!c.timing) return figures;
  if (c.flop && *c.flop > 0) {
    figures["tflops"] = tflops_of(*c.flop, c.timing->median_us);
    if (c.bytes && *c.bytes > 0) figures["flop_per_byte"] = *c.flop / *c.bytes;
  }
  // A million calls of a microsecond are a second.
  if (run.price) figures["dollars_per_million"] = *run.price * c.timing->median_us / 3600;
  Json peers = Json::object();
  for (const PeerResult& peer : c.peers)
    if (peer.ratio && peer.ratio_interval)
      peers[peer.name] = {{"verdict", name_of(verdict_over(peer, run.result, margin))}};
  figures["peers"] = std::move(peers);
  return figures;
}

/// One for each peer, in the order in which they appear.
Json peers_of(const ReportRun& run, const Json& figures) {
  Json peers = Json::array();
  const auto entry = [&](const std::string& name) -> Json& {
    for (Json& peer : peers)
      if (peer["name"] == name) return peer;
    peers.push_back({{"name", name},
                     {"cases", 0},
                     {"measured", 0},
                     {"faster", 0},
                     {"same", 0},
                     {"slower", 0},
                     {"can't tell", 0},
                     {"log_sum", 0.0}});
    return peers.back();
  };
  for (std::size_t i = 0; i < run.result.cases.size(); ++i)
    for (const PeerResult& peer : run.result.cases[i].peers) {
      Json& e = entry(peer.name);
      e["cases"] = e["cases"].get<int>() + 1;
      if (!peer.ratio || !peer.ratio_interval || !run.result.cases[i].timing) continue;
      e["measured"] = e["measured"].get<int>() + 1;
      Json& count = e[figures[i]["peers"][peer.name]["verdict"].get<std::string>()];
      count = count.get<int>() + 1;
      e["log_sum"] = e["log_sum"].get<double>() + std::log(*peer.ratio);
    }
  for (Json& peer : peers) {
    const int measured = peer["measured"].get<int>();
    peer["geometric_mean"] = measured > 0 ? Json(std::exp(peer["log_sum"].get<double>() / measured)) : Json(nullptr);
    peer.erase("log_sum");
  }
  return peers;
}

Json counts_of(const ResultFile& run) {
  const auto count = [&](const auto& of) { return std::count_if(run.cases.begin(), run.cases.end(), of); };
  return {{"cases", run.cases.size()},
          {"correct", count([](const CaseResult& c) { return c.correct; })},
          {"wrong", count([](const CaseResult& c) { return !c.correct; })},
          {"timed", count([](const CaseResult& c) { return c.timing.has_value(); })},
          {"throttled", count([](const CaseResult& c) { return !c.throttled.empty(); })}};
}

}  // namespace

Json report_document(const std::vector<ReportRun>& runs, double margin) {
  Json all = Json::array();
  for (const ReportRun& run : runs) {
    Json cases = Json::array();
    for (const CaseResult& c : run.result.cases) {
      cases.push_back(figures_of(c, run, margin));
      // In the order of the file, as its reader keeps them.
      if (Json profile = profile_figures(run.result.json["cases"][cases.size() - 1]); !profile.is_null())
        cases.back()["profile"] = std::move(profile);
    }
    Json peers = peers_of(run, cases);
    all.push_back({{"file", run.name},
                   {"dollars_per_hour", run.price ? Json(*run.price) : Json(nullptr)},
                   {"counts", counts_of(run.result)},
                   {"cases", std::move(cases)},
                   {"peers", std::move(peers)},
                   {"speed", speed_slices(run.result)},
                   {"roofline", roofline(run.result)},
                   {"result", without_samples(run.result.json)}});
  }
  return {{"margin", margin}, {"runs", std::move(all)}};
}

}  // namespace flashfit::results
