#include "inspect/coverage.hpp"

#include <algorithm>
#include <map>

namespace flashfit::inspect {
namespace {

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

bool has_linked_code(const Binary& binary) {
  return std::any_of(binary.containers.begin(), binary.containers.end(),
                     [](const Container& c) { return !c.relocatable && !c.entries.empty(); });
}

/// Beside linked code, relocatable objects are what it was linked from.
bool counts(const Container& c, bool linked) { return !c.entries.empty() && !(c.relocatable && linked); }

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

GpuJudge::Key key_of(const Container& c) {
  GpuJudge::Key key;
  for (const CodeEntry& e : c.entries)
    key.emplace_back(static_cast<int>(e.kind), e.target.architecture, static_cast<int>(e.target.scope), e.ptx_isa,
                     e.toolkit, e.zstd, e.relocatable);
  return key;
}

}  // namespace

GpuJudge::GpuJudge(const AskedGpu& gpu, CudaVersion driver)
    : asked_(gpu.asked), machine_{gpu.gpu.name, gpu.gpu.cc, driver} {}

const GpuJudge::Known& GpuJudge::judge(const Container& c) {
  const auto [at, fresh] = known_.try_emplace(key_of(c));
  if (fresh) {
    Machine any_driver = machine_;
    any_driver.driver = 0;
    at->second = {best_of(c.entries, machine_), best_of(c.entries, any_driver).best != Best::kNo};
  }
  return at->second;
}

Coverage GpuJudge::cover(const Binary& binary) {
  const bool linked = has_linked_code(binary);
  const bool links = linkable(binary, machine_);
  Coverage coverage{.summary = {.gpu = asked_}};
  for (std::size_t i = 0; i < binary.containers.size(); ++i) {
    const Container& c = binary.containers[i];
    if (!counts(c, linked)) continue;
    ++coverage.containers;
    const auto& [answer, with_another_driver] = judge(c);
    const Best best = answer.best == Best::kNo && links && !has_ptx(c) ? Best::kPtxJit : answer.best;
    coverage.summary.best = std::max(coverage.summary.best, best);
    if (best != Best::kNo) {
      ++coverage.summary.covered;
    } else {
      coverage.lacks.push_back({i, answer.reason, with_another_driver});
    }
  }
  return coverage;
}

std::size_t counted_containers(const Binary& binary) {
  const bool linked = has_linked_code(binary);
  return static_cast<std::size_t>(std::count_if(binary.containers.begin(), binary.containers.end(),
                                                [=](const Container& c) { return counts(c, linked); }));
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

LibraryCoverage GpuJudge::cover(const Target& target, const Library& library) {
  LibraryCoverage whole;
  for (const std::size_t b : library) {
    Coverage c = cover(target.binaries[b]);
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
