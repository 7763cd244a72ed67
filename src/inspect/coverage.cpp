#include "inspect/coverage.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace flashfit::inspect {
namespace {

using Key = std::vector<std::tuple<int, int, int, int, int, bool, bool>>;

Key key_of(const Container& c) {
  Key key;
  for (const CodeEntry& e : c.entries)
    key.emplace_back(static_cast<int>(e.kind), e.target.architecture, static_cast<int>(e.target.scope), e.ptx_isa,
                     e.toolkit, e.zstd, e.relocatable);
  return key;
}

/// Containers of a library hold much the same, so that few kinds of them are judged.
class Judge {
 public:
  explicit Judge(Machine machine) : machine_(std::move(machine)) {}

  const Answer& operator()(const Container& c) {
    const auto [at, fresh] = answers_.try_emplace(key_of(c));
    if (fresh) at->second = best_of(c.entries, machine_);
    return at->second;
  }

 private:
  Machine machine_;
  std::map<Key, Answer> answers_;
};

bool has_ptx(const Container& c) {
  return std::any_of(c.entries.begin(), c.entries.end(),
                     [](const CodeEntry& e) { return e.kind == CodeEntry::Kind::kPtx; });
}

/// Whether the driver can link the relocatable objects: each has usable PTX.
bool linkable(const Binary& binary, const Machine& machine) {
  bool any = false;
  for (const Container& c : binary.containers) {
    if (!c.relocatable || c.entries.empty()) continue;
    any = true;
    if (std::none_of(c.entries.begin(), c.entries.end(),
                     [&](const CodeEntry& e) { return runs(e, machine).best == Best::kPtxJit; }))
      return false;
  }
  return any;
}

void add_once(std::vector<std::pair<GpuTarget, std::string>>& list, const GpuTarget& target) {
  if (std::none_of(list.begin(), list.end(), [&](const auto& known) { return known.first == target; }))
    list.emplace_back(target, target.str());
}

std::vector<std::string> sorted(std::vector<std::pair<GpuTarget, std::string>> list) {
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.architecture, a.first.scope) < std::pair(b.first.architecture, b.first.scope);
  });
  std::vector<std::string> out;
  for (auto& [target, text] : list) out.push_back(std::move(text));
  return out;
}

}  // namespace

Coverage cover(const Binary& binary, const AskedGpu& gpu, CudaVersion driver) {
  const Machine machine{gpu.gpu.name, gpu.gpu.cc, driver}, any_driver{gpu.gpu.name, gpu.gpu.cc, 0};
  Judge judge(machine), judge_any(any_driver);
  const bool linked = std::any_of(binary.containers.begin(), binary.containers.end(),
                                  [](const Container& c) { return !c.relocatable && !c.entries.empty(); });
  const bool links = linkable(binary, machine);
  Coverage coverage{.summary = {.gpu = gpu.asked}};
  for (std::size_t i = 0; i < binary.containers.size(); ++i) {
    const Container& c = binary.containers[i];
    // Beside linked code, objects are what it was linked from.
    if (c.entries.empty() || (c.relocatable && linked)) continue;
    ++coverage.containers;
    const Answer& answer = judge(c);
    const Best best = answer.best == Best::kNo && links && !has_ptx(c) ? Best::kPtxJit : answer.best;
    coverage.summary.best = std::max(coverage.summary.best, best);
    if (best != Best::kNo) {
      ++coverage.summary.covered;
    } else {
      coverage.lacks.push_back({i, answer.reason, judge_any(c).best != Best::kNo});
    }
  }
  return coverage;
}

std::vector<Library> libraries_of(const Target& target) {
  std::vector<Library> libraries;
  std::map<std::string_view, std::size_t> archives;  // to their place in the list
  for (std::size_t b = 0; b < target.binaries.size(); ++b) {
    const Binary& binary = target.binaries[b];
    if (binary.archive_offset == 0) {
      libraries.push_back({b});
      continue;
    }
    const auto [known, fresh] = archives.emplace(binary.archive, libraries.size());
    if (fresh) libraries.emplace_back();
    libraries[known->second].push_back(b);
  }
  return libraries;
}

LibraryCoverage cover(const Target& target, const Library& library, const AskedGpu& gpu, CudaVersion driver) {
  LibraryCoverage whole;
  for (const std::size_t b : library) {
    Coverage c = cover(target.binaries[b], gpu, driver);
    whole.best = std::max(whole.best, c.summary.best);
    whole.containers += c.containers;
    whole.covered += c.summary.covered;
    for (Lack& lack : c.lacks) whole.lacks.push_back({b, std::move(lack)});
  }
  return whole;
}

Holdings holdings_of(const Binary& binary) {
  std::vector<std::pair<GpuTarget, std::string>> sass, ptx;
  Holdings holdings;
  for (const Container& c : binary.containers)
    for (const CodeEntry& e : c.entries) {
      add_once(e.kind == CodeEntry::Kind::kSass ? sass : ptx, e.target);
      holdings.newest_ptx_isa = std::max(holdings.newest_ptx_isa, e.ptx_isa);
    }
  holdings.sass = sorted(std::move(sass));
  holdings.ptx = sorted(std::move(ptx));
  return holdings;
}

}  // namespace flashfit::inspect
