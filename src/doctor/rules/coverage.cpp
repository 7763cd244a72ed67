#include "doctor/rules/coverage.hpp"

#include <algorithm>
#include <map>

#include "doctor/facts/add_kernel_names.hpp"

namespace flashfit::doctor {
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

/// Whether there are containers of fat binaries: what bare cubins lack beside them is left to those.
bool has_packed(const Binary& binary, bool linked) {
  return std::any_of(binary.containers.begin(), binary.containers.end(),
                     [&](const Container& c) { return counts(c, linked) && !is_bare(c); });
}

/// Of a library with nothing but bare cubins: one container together. `judge` gives what GpuJudge knows of a container.
template <class Judge>
Coverage cover_bare(const Binary& binary, const std::string& gpu, const Judge& judge) {
  Coverage coverage{.summary = {.gpu = gpu}};
  for (std::size_t i = 0; i < binary.containers.size(); ++i) {
    const Container& c = binary.containers[i];
    if (!is_bare(c)) continue;
    const auto& [answer, with_another_driver] = judge(c);
    coverage.containers = 1;
    coverage.summary.best = std::max(coverage.summary.best, answer.best);
    if (coverage.lacks.empty()) coverage.lacks.push_back({i, answer.reason, with_another_driver});
  }
  if (coverage.summary.best == Best::kNo) return coverage;
  coverage.summary.covered = 1;
  coverage.lacks.clear();
  return coverage;
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

GpuJudge::Key key_of(const Container& c) {
  GpuJudge::Key key;
  for (const CodeEntry& e : c.entries)
    key.emplace_back(static_cast<int>(e.kind), e.target.architecture, static_cast<int>(e.target.scope), e.ptx_isa,
                     e.toolkit, e.zstd, e.relocatable);
  return key;
}

}  // namespace

bool is_bare(const Container& container) {
  return !container.usual_section && container.image_size > 0 && container.image == container.offset;
}

GpuJudge::GpuJudge(const AskedGpu& gpu, CudaVersion driver, const Target* package)
    : asked_(gpu.asked), machine_{gpu.gpu.name, gpu.gpu.cc, driver}, package_(package) {}

const GpuJudge::Known& GpuJudge::judge(const Container& c) {
  const auto [at, fresh] = known_.try_emplace(key_of(c));
  if (fresh) {
    Machine any_driver = machine_;
    any_driver.driver = 0;
    at->second = {best_of(c.entries, machine_), best_of(c.entries, any_driver).best != Best::kNo};
  }
  return at->second;
}

const GpuJudge::Cubins& GpuJudge::cubins() {
  if (cubins_) return *cubins_;
  cubins_.emplace();
  if (package_ == nullptr) return *cubins_;
  for (const Binary& binary : package_->binaries) {
    const bool file = binary.kind == BinaryKind::kCubin;
    for (const Container& c : binary.containers) {
      if (!(file || is_bare(c)) || !runs(c)) continue;
      cubins_->any = true;
      cubins_->kernels.insert(c.kernels.begin(), c.kernels.end());
      if (!file) continue;
      for (const KernelFacts& kernel : binary.kernels) cubins_->kernels.insert(kernel.name);
    }
  }
  return *cubins_;
}

bool GpuJudge::is_in_cubins(const Binary& binary, const Container& c) {
  const bool of_library =
      binary.kind == BinaryKind::kElf || binary.kind == BinaryKind::kPe || binary.kind == BinaryKind::kObject;
  if (!of_library || c.kernels.empty() || c.kernels.size() >= kMostKernelNames) return false;
  const auto& kernels = cubins().kernels;
  return std::all_of(c.kernels.begin(), c.kernels.end(),
                     [&](const std::string& name) { return kernels.contains(name); });
}

Coverage GpuJudge::cover(const Binary& binary) {
  const bool linked = has_linked_code(binary);
  const bool links = linkable(binary, machine_);
  if (!has_packed(binary, linked))
    return cover_bare(binary, asked_, [this](const Container& c) -> const Known& { return judge(c); });
  Coverage coverage{.summary = {.gpu = asked_}};
  for (std::size_t i = 0; i < binary.containers.size(); ++i) {
    const Container& c = binary.containers[i];
    if (!counts(c, linked)) continue;
    if (is_bare(c)) {
      coverage.bare_runs |= runs(c);
      continue;
    }
    ++coverage.containers;
    const auto& [answer, with_another_driver] = judge(c);
    Best best = answer.best == Best::kNo && links && !has_ptx(c) ? Best::kPtxJit : answer.best;
    if (best == Best::kNo && is_in_cubins(binary, c)) best = Best::kSass;
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
  std::size_t packed = 0, bare = 0;
  for (const Container& c : binary.containers)
    if (counts(c, linked)) ++(is_bare(c) ? bare : packed);
  return packed > 0 || bare == 0 ? packed : 1;
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
    whole.bare_runs |= c.bare_runs;
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

}  // namespace flashfit::doctor
