#include "measure/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace flashfit::results {
namespace {

constexpr std::size_t kMostDifferences = 6;  // in one line

/// The noise of a ratio of both runs; what a file does not know counts as the margin.
double noise_of(const ResultFile& old_run, const ResultFile& new_run, double margin) {
  return together(old_run.noise.value_or(margin), new_run.noise.value_or(margin));
}

/// Whether a peer of one run is the same program as that of the other. Python itself times nothing.
bool same_peers(const ResultFile& old_run, const ResultFile& new_run) {
  const auto of_peers = [](const ResultFile& run) {
    auto versions = run.versions;
    versions.erase("python");
    versions.erase("flashfit");
    return versions;
  };
  return of_peers(old_run) == of_peers(new_run);
}

Ratio of_times(const CaseResult& c) { return {c.timing->median_us, c.timing->interval_us}; }

bool says_ratio(const PeerResult* peer) {
  return peer != nullptr && peer->correct && peer->ratio && peer->ratio_interval;
}
Ratio beside(const PeerResult& peer) { return {*peer.ratio, *peer.ratio_interval}; }

/// Beside peers, or alone. What slows a whole run down slows its peers too, and cancels. A peer may have changed by
/// itself, so of several the interval holds those of all.
void take_ratio(CaseComparison& to, const CaseResult& before, const CaseResult& after, bool anchors) {
  to.ratio = quotient(of_times(after), of_times(before));
  if (!anchors) return;
  double logarithms = 0;
  for (const PeerResult& peer : after.peers) {
    const PeerResult* old_peer = before.peer(peer.name);
    if (!says_ratio(&peer) || !says_ratio(old_peer)) continue;
    // A peer's ratio is its time over flashfit's: flashfit's own times are the other way round.
    const Ratio ratio = quotient(beside(*old_peer), beside(peer));
    Interval& all = to.ratio.interval;
    all = to.beside.empty() ? ratio.interval
                            : Interval{std::min(all.low, ratio.interval.low), std::max(all.high, ratio.interval.high)};
    to.beside.push_back(peer.name);
    logarithms += std::log(ratio.value);
    to.ratio.value = std::exp(logarithms / static_cast<double>(to.beside.size()));
  }
}

/// Sorts a case that both have into where it belongs.
void add_case(Comparison& to, const CaseResult& before, const CaseResult& after, bool anchors, double noise) {
  if (!after.correct) {
    (before.correct ? to.became_wrong : to.wrong_in_both).push_back({after.name, after.message});
    return;
  }
  if (!before.correct) {
    to.became_right.push_back(after.name);
    return;
  }
  if (!before.timing || !after.timing) {
    to.without_times.push_back(after.name);
    return;
  }
  CaseComparison c{
      .name = after.name, .old_us = before.timing->median_us, .new_us = after.timing->median_us, .beside = {}};
  take_ratio(c, before, after, anchors);
  c.ratio = widened(c.ratio, noise);
  c.verdict = judge(c.ratio.interval, to.margin);
  to.cases.push_back(std::move(c));
}

void add_notes(Comparison& to, const ResultFile& old_run, const ResultFile& new_run, bool anchors) {
  // ISO 8601 in UTC is in order as text.
  if (!old_run.at.empty() && !new_run.at.empty() && old_run.at > new_run.at)
    to.notes.push_back(fmt::format("OLD was made after NEW ({} and {}): are they swapped?", old_run.at, new_run.at));
  if (!old_run.revision.empty() && old_run.revision == new_run.revision)
    to.notes.push_back(fmt::format("both are of revision {}", new_run.revision));
  for (const auto& [name, run] : {std::pair("OLD", &old_run), {"NEW", &new_run}}) {
    if (!run->complete) to.notes.push_back(fmt::format("{} was interrupted: it holds what had been measured", name));
    if (!run->noise)
      to.notes.push_back(fmt::format("{} states no noise floor: {:.3g} % is taken", name, 100 * to.margin));
    const auto throttled =
        std::count_if(run->cases.begin(), run->cases.end(), [](const CaseResult& c) { return !c.throttled.empty(); });
    if (throttled > 0) to.notes.push_back(fmt::format("{} was throttled in {} cases", name, throttled));
  }
  if (!anchors) to.notes.emplace_back("peers are of different versions: no ratio is taken beside them");
}

}  // namespace

int Comparison::count(Verdict verdict) const {
  return static_cast<int>(
      std::count_if(cases.begin(), cases.end(), [&](const CaseComparison& c) { return c.verdict == verdict; }));
}

Result<Comparison> compare(const ResultFile& old_run, const ResultFile& new_run, const CompareOptions& options) {
  Comparison to{.margin = options.margin};
  std::vector<std::string> apart = differences(old_run, new_run);
  if (apart.size() > kMostDifferences) {
    const std::size_t more = apart.size() - kMostDifferences;
    apart.resize(kMostDifferences);
    apart.push_back(fmt::format("and {} more", more));
  }
  if (!apart.empty() && !options.force)
    return fail(Code::kInvalidArgument,
                fmt::format("not comparable: {}; --force compares them all the same", fmt::join(apart, "; ")));
  for (const std::string& line : apart) to.notes.push_back("compared by force: " + line);
  const bool anchors = same_peers(old_run, new_run);
  add_notes(to, old_run, new_run, anchors);

  const double noise = noise_of(old_run, new_run, options.margin);
  bool common = false;
  for (const CaseResult& after : new_run.cases) {
    const CaseResult* before = old_run.find(after.name);
    common |= before != nullptr;
    if (before == nullptr)
      to.only_new.push_back(after.name);
    else
      add_case(to, *before, after, anchors, noise);
  }
  for (const CaseResult& before : old_run.cases)
    if (new_run.find(before.name) == nullptr) to.only_old.push_back(before.name);
  if (!common) return fail(Code::kInvalidArgument, "not comparable: no case is in both files");
  return to;
}

}  // namespace flashfit::results
