// FF101 to FF104, FF106 to FF111: SASS and PTX against each GPU and the driver, container by container.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>

#include "core/base/printable.hpp"
#include "doctor/binaries/demangle.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/coverage.hpp"
#include "doctor/rules/on_purpose.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::size_t kMostKernels = 3;

/// The code of a reason that names the driver.
const char* driver_code(const std::string& reason) {
  if (reason.find("ZSTD") != std::string::npos) return "FF104";
  return reason.find("was made by CUDA") != std::string::npos ? "FF105" : "FF103";
}

std::string arch_fix(const AskedGpu& gpu) {
  const ComputeCapability cc = gpu.gpu.cc;
  const bool own = cc.minor != 0 && !runs_on({cc.major * 10, flashfit::Target::Kind::kSass}, cc);
  const std::string sass = own || cc.minor == 0 ? cc.str() : fmt::format("{}.0 to {}", cc.major, cc.str());
  return fmt::format("SASS {} or PTX of {} or older", sass, cc.str());
}

/// "; without one: flash_fwd_kernel and 5 more".
std::string kernels_text(const Target& target, const std::vector<LibraryLack>& lacks) {
  std::vector<std::string> names;
  for (const auto& [binary, lack] : lacks)
    for (const std::string& name : target.binaries[binary].containers[lack.container].kernels) {
      std::string shown = printable(demangled(name), 90);
      if (std::find(names.begin(), names.end(), shown) == names.end()) names.push_back(std::move(shown));
    }
  if (names.empty()) return "";
  const std::size_t more = names.size() - std::min(names.size(), kMostKernels);
  names.resize(names.size() - more);
  return fmt::format("; without one: {}{}", fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

/// Reasons that occur, the most frequent first.
std::vector<std::pair<std::string, std::size_t>> by_reason(const std::vector<LibraryLack>& lacks) {
  std::map<std::string, std::size_t> counts;
  for (const LibraryLack& l : lacks) ++counts[l.lack.reason];
  std::vector<std::pair<std::string, std::size_t>> out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

/// Whether any of its code runs, bare cubins of other kernels among it.
bool judge_library(const Target& target, const Library& library, const AskedGpu& gpu, GpuJudge& judge,
                   std::vector<Problem>& problems) {
  const LibraryCoverage c = judge.cover(target, library);
  const Binary& first = target.binaries[library.front()];
  const std::string& path = first.archive_offset == 0 ? first.path : first.archive;
  if (c.containers == 0) return false;
  if (c.lacks.empty()) {
    if (c.best == Best::kPtxJit)
      problems.push_back(
          {"FF109", Severity::kNote,
           fmt::format("{} runs it by PTX alone: the driver compiles it at the first use", gpu_text(gpu)), path,
           arch_fix(gpu)});
    return true;
  }
  const auto reasons = by_reason(c.lacks);
  const bool driver = std::all_of(c.lacks.begin(), c.lacks.end(), [](const LibraryLack& l) { return l.lack.driver; });
  const std::string& reason = reasons.front().first;
  Problem problem{.message = reason, .member = path, .fix = arch_fix(gpu)};
  problem.code = driver ? driver_code(reason) : c.covered == 0 && !c.bare_runs ? "FF101" : "FF102";
  if (driver) problem.fix = "a newer driver, or " + problem.fix;
  if (c.covered > 0 || c.bare_runs) {
    problem.severity = chooses_itself(target) || is_of_nvidia(first) ? Severity::kNote : Severity::kDegrades;
    problem.message = fmt::format("{} of {} containers have no image for {}: {}{}{}", c.lacks.size(), c.containers,
                                  gpu_text(gpu), reason, kernels_text(target, c.lacks),
                                  c.covered > 0 ? "" : "; what runs is cubins of other kernels");
  } else if (reasons.size() > 1) {
    problem.message += fmt::format(" ({} of {} containers; the others differ, and lack one too)",
                                   reasons.front().second, c.containers);
  }
  problems.push_back(std::move(problem));
  return c.covered > 0 || c.bare_runs;
}

/// Libraries of one wheel are for several GPUs each at times (_C_cutlass_90a beside _C), and one that lacks an image
/// leaves the others, and its loose images, as they are. In a folder they are of different packages, of which none is
/// worth another.
void soften_beside_others(const Target& target, std::span<Problem> of_gpu) {
  if (target.kind != TargetKind::kWheel) return;
  for (Problem& p : of_gpu)
    if (p.code == "FF101") p.severity = chooses_itself(target) ? Severity::kNote : Severity::kDegrades;
}

bool is_loose(const Binary& binary) {
  return binary.kind == BinaryKind::kCubin || binary.kind == BinaryKind::kFatbin || binary.kind == BinaryKind::kPtx;
}

/// Loose files beside each other are for several GPUs each on purpose: programs pick by name. Whether any runs.
/// Where none does, libraries of the package that run (`libraries_run`) or what it compiles when it runs do what loose
/// files for newer GPUs alone leave out.
bool judge_loose(const Target& target, const AskedGpu& gpu, GpuJudge& judge, bool libraries_run,
                 std::vector<Problem>& problems) {
  std::size_t files = 0, run = 0;
  std::map<std::string, std::size_t> reasons;
  bool on_purpose =
      chooses_itself(target) || (target.kind != TargetKind::kDirectory && (libraries_run || target.cuda_sources > 0));
  Question one;
  one.gpus = {gpu};
  for (const Binary& binary : target.binaries) {
    if (!is_loose(binary)) continue;
    const Coverage c = judge.cover(binary);
    if (c.containers == 0) continue;
    ++files;
    if (c.lacks.empty()) {
      ++run;
      continue;
    }
    ++reasons[c.lacks.front().reason];
    on_purpose = on_purpose && lacks_on_purpose(binary, one);
  }
  if (run == files) return run > 0;
  const auto most =
      std::max_element(reasons.begin(), reasons.end(), [](auto& a, auto& b) { return a.second < b.second; });
  Problem problem{
      .message = fmt::format("{} of {} loose images run on {}; most often: {}", run, files, gpu_text(gpu), most->first),
      .fix = arch_fix(gpu)};
  const bool missed = run == 0 && !on_purpose;
  problem.code = missed ? "FF101" : "FF108";
  problem.severity = missed ? Severity::kMisfit : Severity::kNote;
  problems.push_back(std::move(problem));
  return run > 0;
}

void add_notes(const Binary& binary, std::vector<Problem>& problems) {
  std::size_t outside = 0, unread = 0, relocatable = 0;
  for (const Container& c : binary.containers) {
    outside += c.usual_section ? 0 : 1;
    unread += c.entries.empty() ? 1 : 0;
    relocatable += c.relocatable ? 1 : 0;
  }
  const auto note = [&](const char* code, std::string message) {
    problems.push_back({code, Severity::kNote, std::move(message), binary.path, ""});
  };
  const auto counted = [](std::size_t n, const char* of_one, const char* of_more) {
    return fmt::format("{} {}", n, n == 1 ? of_one : of_more);
  };
  if (relocatable > 0)
    note("FF107", counted(relocatable, "relocatable container", "relocatable containers") +
                      " (-rdc): their PTX runs only if all of it can be linked");
  if (outside > 0) note("FF110", counted(outside, "container lies", "containers lie") + " outside the usual sections");
  if (unread > 0)
    note("FF111",
         counted(unread, "container holds", "containers hold") + " nothing that a driver loads by itself (LTO code)");
}

}  // namespace

void check_gpu_code(const Target& target, const Question& question, std::vector<Problem>& problems) {
  const auto loose = std::count_if(target.binaries.begin(), target.binaries.end(), is_loose);
  bool any = false;
  for (const Binary& binary : target.binaries) {
    any |= !binary.containers.empty();
    add_notes(binary, problems);
  }
  if (!any) return;
  if (question.gpus.empty())
    problems.push_back({"FF904", Severity::kUnknown, "no GPU was named, and this machine shows none", "",
                        "--gpu NAME, or --gpu all for a table"});
  const auto libraries = libraries_of(target);
  for (const AskedGpu& gpu : question.gpus) {
    if (std::string why = driver_misfit({gpu.gpu.name, gpu.gpu.cc, question.driver}); !why.empty()) {
      problems.push_back({"FF106", Severity::kHost, std::move(why), "", "another driver"});
      continue;
    }
    GpuJudge judge(gpu, question.driver, &target);
    const std::size_t before = problems.size();
    bool any_runs = false;
    for (const Library& library : libraries)
      if (loose < 2 || !is_loose(target.binaries[library.front()]))
        any_runs |= judge_library(target, library, gpu, judge, problems);
    if (loose > 1) any_runs |= judge_loose(target, gpu, judge, any_runs, problems);
    const auto of_gpu = std::span(problems).subspan(before);
    if (any_runs) soften_beside_others(target, of_gpu);
    // What is for other GPUs than this one may be for the next one that was asked for.
    Question one = question;
    one.gpus = {gpu};
    soften_on_purpose(target, one, of_gpu);
  }
}

}  // namespace flashfit::doctor
