#include "doctor/gpu_code/what_runs_where.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/gpu/driver_versions.hpp"
#include "doctor/gpu_code/toolkit_versions.hpp"

namespace flashfit::doctor {
namespace {

using Kind = CodeEntry::Kind;

constexpr CudaVersion kFirstZstdDriver = 12040;  // 550: ml-explore/mlx#2407

bool target_reaches(const CodeEntry& e, ComputeCapability gpu) {
  return runs_on(
      {e.target.architecture, e.kind == Kind::kSass ? Target::Kind::kSass : Target::Kind::kPtx, e.target.scope}, gpu);
}

// Whether its SASS is its own, although there is an older one of its major.
bool alone(ComputeCapability cc) { return !runs_on({cc.major * 10, Target::Kind::kSass}, cc) && cc.minor != 0; }

std::string place(ComputeCapability cc) {
  return cc == ComputeCapability{10, 1} ? "11.0 (10.1 before CUDA 13)" : cc.str();
}

// "" or why the driver does not take the entry, its target being right.
std::string refused_by_driver(const CodeEntry& e, CudaVersion driver) {
  if (driver == 0) return "";
  if (e.zstd && driver < kFirstZstdDriver)
    return fmt::format("{} is a ZSTD entry; drivers before 550 (CUDA 12.4) cannot read it, and yours is for CUDA {}",
                       e.str(), str(driver));
  if (e.kind == Kind::kPtx && driver < first_cuda_for_ptx(e.ptx_isa)) {
    const int newest = newest_ptx_for(driver);
    return fmt::format("PTX ISA {} needs a driver for CUDA {}; yours is for {} and takes {}", ptx_isa_str(e.ptx_isa),
                       str(first_cuda_for_ptx(e.ptx_isa)), str(driver),
                       newest == 0 ? "older PTX" : "up to " + ptx_isa_str(newest));
  }
  if (e.kind == Kind::kSass && e.toolkit / 1000 > driver / 1000)
    return fmt::format("{} was made by CUDA {}, which needs a driver for CUDA {}.0 or later; yours is for {}", e.str(),
                       str(e.toolkit), e.toolkit / 1000, str(driver));
  return "";
}

// "SASS 8.0, 9.0a; PTX 9.0" of what a container holds.
std::string holdings(std::span<const CodeEntry> entries) {
  std::vector<std::string> sass, ptx;
  for (const CodeEntry& e : entries) {
    auto& list = e.kind == Kind::kSass ? sass : ptx;
    if (std::find(list.begin(), list.end(), e.target.str()) == list.end()) list.push_back(e.target.str());
  }
  return fmt::format("{}, {}", sass.empty() ? "no SASS" : fmt::format("SASS {}", fmt::join(sass, " ")),
                     ptx.empty() ? "no PTX" : fmt::format("PTX {}", fmt::join(ptx, " ")));
}

}  // namespace

std::string CodeEntry::str() const { return target.str() + (kind == Kind::kPtx ? "+PTX" : ""); }

const char* name_of(Best best) { return best == Best::kSass ? "sass" : best == Best::kPtxJit ? "ptx-jit" : "no"; }

std::string reach_of(const CodeEntry& e) {
  const bool plain = e.target.scope == TargetScope::kPlain;
  if (plain && e.kind == Kind::kPtx) return fmt::format("{} runs on {} and later", e.str(), e.cc().str());
  if (plain && !alone(e.cc())) return fmt::format("{} runs on {}.x from {} on", e.str(), e.cc().major, e.cc().str());
  std::vector<std::string> on;
  if (e.target.scope == TargetScope::kFamily)
    for (const ComputeCapability member : family_from(e.cc())) on.push_back(place(member));
  else
    on.push_back(place(e.cc()));
  return fmt::format("{} runs only on {}", e.str(), fmt::join(on, " and "));
}

std::string driver_misfit(const Machine& m) {
  if (m.driver == 0) return "";
  if (const CudaVersion first = first_driver_for(m.gpu); m.driver < first)
    return fmt::format("{} ({}) needs a driver for CUDA {} or later (branch {}); yours is for {}", m.name, m.gpu.str(),
                       str(first), first_branch(first), str(m.driver));
  if (const CudaVersion last = last_driver_for(m.gpu); last != 0 && m.driver > last)
    return fmt::format("{} ({}) is not in drivers after branch {} (CUDA {}); yours is for {}", m.name, m.gpu.str(),
                       last_branch_for(m.gpu), str(last), str(m.driver));
  return "";
}

Answer runs(const CodeEntry& e, const Machine& m) {
  if (!target_reaches(e, m.gpu)) return {Best::kNo, fmt::format("{} is {}; {}", m.name, m.gpu.str(), reach_of(e))};
  if (std::string why = driver_misfit(m); !why.empty()) return {Best::kNo, std::move(why)};
  if (std::string why = refused_by_driver(e, m.driver); !why.empty()) return {Best::kNo, std::move(why)};
  if (e.kind == Kind::kSass) return {Best::kSass, fmt::format("SASS {} runs on {}", e.str(), m.gpu.str())};
  const char* how = e.relocatable
                        ? "compiled and linked by the driver, if every object that it is linked with has usable PTX too"
                        : "compiled by the driver at the first use";
  return {Best::kPtxJit, fmt::format("PTX {} is {}", e.target.str(), how)};
}

Answer best_of(std::span<const CodeEntry> entries, const Machine& m) {
  Answer best;
  std::vector<std::string> why, refused;
  for (const CodeEntry& e : entries) {
    Answer answer = runs(e, m);
    const bool reaches = target_reaches(e, m.gpu);
    std::string line = reaches ? answer.reason : reach_of(e);
    if (answer.best > best.best) best = std::move(answer);
    auto& lines = reaches ? refused : why;
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  if (best.best != Best::kNo) return best;
  // Of code for this GPU that the driver does not take, the reason is that; what else there is says nothing.
  if (!refused.empty()) why = std::move(refused);
  if (entries.empty()) return {Best::kNo, "no GPU code"};
  best.reason = fmt::format("{}. {} is {}; {}", holdings(entries), m.name, m.gpu.str(), fmt::join(why, "; "));
  return best;
}

}  // namespace flashfit::doctor
