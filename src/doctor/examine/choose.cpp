#include "doctor/examine/choose.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::size_t kMostExact = 16;  // GPUs: all their subsets are looked at
using Mask = std::uint32_t;

/// Smaller is better.
struct Rank {
  Verdict verdict = Verdict::kMisfit;
  int best = 0;     ///< minus the worst way in which a GPU runs it
  Version version;  ///< the newer the better
  int distance = 0;
  std::size_t place = 0;

  bool operator<(const Rank& other) const {
    if (verdict != other.verdict) return verdict < other.verdict;
    if (best != other.best) return best < other.best;
    if (const auto order = version <=> other.version; order != 0) return order > 0;
    return std::tie(distance, place) < std::tie(other.distance, other.place);
  }
};

/// How far the nearest usable machine code is from the GPU.
int distance_to(const Target& target, ComputeCapability gpu) {
  int nearest = 1000;
  for (const Binary& binary : target.binaries)
    for (const Container& c : binary.containers)
      for (const CodeEntry& e : c.entries)
        if (e.kind == CodeEntry::Kind::kSass && e.cc().major == gpu.major && e.cc() <= gpu)
          nearest = std::min(nearest, gpu.decimal() - e.target.architecture);
  return nearest;
}

Rank rank_of(const TargetReport& report, const Question& question, std::size_t place) {
  Rank rank{.verdict = report.verdict, .place = place};
  Best worst = Best::kSass;
  for (std::size_t g = 0; g < question.gpus.size(); ++g) {
    for (const auto& row : report.coverage)
      if (g < row.size() && row[g].best != Best::kNo) worst = std::min(worst, row[g].best);
    rank.distance += distance_to(report.target, question.gpus[g].gpu.cc);
  }
  rank.best = -static_cast<int>(worst);
  if (const auto name = parse_wheel_name(report.target.file_name)) rank.version = name->version;
  if (rank.version.release.empty()) rank.version.release = {0};
  return rank;
}

bool serves(const Target& target, const Question& question, std::size_t gpu, Verdict at_most) {
  Question one = question;
  one.gpus = {question.gpus[gpu]};
  return verdict_of(problems_of(target, one)) <= at_most;
}

/// The fewest targets, in the order of `order`, whose masks make up `all`: the way to each mask, one target at a time.
std::vector<std::size_t> fewest(const std::vector<Mask>& masks, const std::vector<std::size_t>& order, Mask all) {
  struct Way {
    std::size_t count = SIZE_MAX, target = 0;
    Mask before = 0;
  };
  // Of those that serve the same GPUs the best is enough: many files have few masks.
  std::vector<std::size_t> candidates;
  std::set<Mask> known;
  for (const std::size_t t : order)
    if (masks[t] != 0 && known.insert(masks[t]).second) candidates.push_back(t);
  std::vector<Way> ways(all + 1);
  ways[0].count = 0;
  for (Mask done = 0; done < all; ++done) {
    if (ways[done].count == SIZE_MAX) continue;
    for (const std::size_t t : candidates) {
      Way& next = ways[done | masks[t]];
      if (next.count > ways[done].count + 1) next = {ways[done].count + 1, t, done};
    }
  }
  std::vector<std::size_t> set;
  if (ways[all].count == SIZE_MAX) return set;
  for (Mask at = all; at != 0; at = ways[at].before) set.push_back(ways[at].target);
  return set;
}

std::vector<std::size_t> greedy(const std::vector<std::vector<bool>>& serve, const std::vector<std::size_t>& order) {
  std::vector<bool> done(serve.empty() ? 0 : serve[0].size());
  std::vector<std::size_t> set;
  for (;;) {
    std::size_t most = 0, best = 0;
    for (const std::size_t t : order) {
      std::size_t fresh = 0;
      for (std::size_t g = 0; g < done.size(); ++g) fresh += serve[t][g] && !done[g] ? 1 : 0;
      if (fresh > most) {
        most = fresh;
        best = t;
      }
    }
    if (most == 0) return set;
    set.push_back(best);
    for (std::size_t g = 0; g < done.size(); ++g) done[g] = done[g] || serve[best][g];
  }
}

}  // namespace

Choice choose(const std::vector<TargetReport>& reports, const Question& question) {
  Choice choice;
  std::vector<Rank> ranks;
  std::vector<std::size_t> order(reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    ranks.push_back(rank_of(reports[i], question, i));
    order[i] = i;
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  std::vector<std::size_t> all(question.gpus.size());
  for (std::size_t g = 0; g < all.size(); ++g) all[g] = g;
  if (!order.empty() && ranks[order[0]].verdict <= Verdict::kDegraded) {
    choice.best = order[0];
    choice.set = {{order[0], all}};
    if (ranks[order[0]].verdict == Verdict::kFits || all.size() < 2) return choice;
  }
  if (all.size() < 2) {
    if (!choice.best) choice.unserved = std::move(all);
    return choice;
  }

  std::vector<std::vector<bool>> serve(reports.size(), std::vector<bool>(all.size()));
  std::vector<Mask> masks(reports.size());
  for (const std::size_t g : all) {
    Verdict at_most = Verdict::kFits;
    bool any = false;
    for (; !any && at_most <= Verdict::kDegraded; at_most = static_cast<Verdict>(static_cast<int>(at_most) + 1))
      for (std::size_t t = 0; t < reports.size(); ++t) {
        if (!serves(reports[t].target, question, g, at_most)) continue;
        any = serve[t][g] = true;
        if (g < kMostExact) masks[t] |= Mask{1} << g;
      }
    if (!any) choice.unserved.push_back(g);
  }
  if (!choice.unserved.empty()) return choice;
  const auto set = all.size() <= kMostExact ? fewest(masks, order, (Mask{1} << all.size()) - 1) : greedy(serve, order);
  choice.set.clear();
  choice.best.reset();
  std::vector<bool> given(all.size());
  for (const std::size_t t : set) {
    choice.set.push_back({t, {}});
    for (const std::size_t g : all)
      if (serve[t][g] && !given[g]) {
        given[g] = true;
        choice.set.back().gpus.push_back(g);
      }
  }
  if (choice.set.size() == 1) choice.best = choice.set[0].target;
  return choice;
}

}  // namespace flashfit::doctor
