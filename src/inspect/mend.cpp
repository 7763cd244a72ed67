#include "inspect/mend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "inspect/ascii.hpp"
#include "inspect/build_label.hpp"
#include "inspect/metadata.hpp"
#include "inspect/wheel_name.hpp"

namespace flashfit::inspect {
namespace {

constexpr int kOldestPython = 8, kNewestPython = 14;

bool has(const TargetReport& report, std::initializer_list<std::string_view> codes) {
  return std::any_of(report.problems.begin(), report.problems.end(),
                     [&](const Problem& p) { return std::find(codes.begin(), codes.end(), p.code) != codes.end(); });
}

bool fits(const Target& target, const Question& question) {
  return verdict_of(problems_of(target, question)) == Verdict::kFits;
}

/// For a shell: in single quotes unless it is plain.
std::string quoted(std::string_view word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](char c) {
    return is_alnum(c) || std::string_view("-_./+=:,%@").find(c) != std::string_view::npos;
  });
  if (plain && !word.empty()) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Control characters in a name would be more than a name to a terminal.
bool printable_path(std::string_view path) {
  return std::all_of(path.begin(), path.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

bool mend_by_other(TargetReport& report, const std::vector<TargetReport>& all) {
  const auto name = parse_wheel_name(report.target.file_name);
  if (!name) return false;
  for (const TargetReport& other : all) {
    const auto its = parse_wheel_name(other.target.file_name);
    if (&other == &report || other.verdict != Verdict::kFits || !its || its->name != name->name) continue;
    if (!printable_path(other.target.target)) continue;
    report.mend = "pip install " + quoted(other.target.target);
    report.mend_why = "another of the files given fits";
    return true;
  }
  return false;
}

/// An environment of another Python, the nearest that the wheel fits.
bool mend_by_python(TargetReport& report, const Question& question) {
  if (!question.python || !has(report, {"FF201", "FF203"})) return false;
  std::vector<int> minors;
  for (int minor = kOldestPython; minor <= kNewestPython; ++minor) minors.push_back(minor);
  std::stable_sort(minors.begin(), minors.end(), [&](int a, int b) {
    return std::abs(a - question.python->minor) < std::abs(b - question.python->minor);
  });
  for (const int minor : minors) {
    Question other = question;
    const std::string version = fmt::format("3.{}", minor);
    const auto python = parse_python(version);
    if (!python) continue;
    other.python = *python;
    if (!fits(report.target, other)) continue;
    report.mend =
        fmt::format("python{0} -m venv venv{0} && venv{0}/bin/pip install {1}", version, quoted(report.target.target));
    report.mend_why = "under Python " + version + " it fits";
    return true;
  }
  return false;
}

/// The same source compiled for the GPUs asked for. Code for one architecture alone was written for that, so that no
/// other target compiles.
bool mend_by_compiling(TargetReport& report, const Question& question) {
  if (!has(report, {"FF101", "FF102"}) || report.target.kind != TargetKind::kWheel) return false;
  const auto name = parse_wheel_name(report.target.file_name);
  if (!name) return false;
  std::set<ComputeCapability> capabilities;
  std::vector<CodeEntry> compiled;
  for (const AskedGpu& gpu : question.gpus)
    if (capabilities.insert(gpu.gpu.cc).second) compiled.push_back({.target = {.architecture = gpu.gpu.cc.decimal()}});
  Target changed = report.target;
  for (Binary& binary : changed.binaries) {
    const bool uses_torch = binary.extension.torch_abi != TorchAbi::kNone;
    for (Container& c : binary.containers) {
      if (c.entries.empty()) continue;
      const bool plain = std::any_of(c.entries.begin(), c.entries.end(),
                                     [](const CodeEntry& e) { return e.target.scope == TargetScope::kPlain; });
      if (!uses_torch || !plain) return false;
      c.entries = compiled;
    }
  }
  if (!fits(changed, question)) return false;
  std::vector<std::string> list;
  for (const ComputeCapability cc : capabilities) list.push_back(cc.str());
  report.mend = fmt::format("TORCH_CUDA_ARCH_LIST='{0}' pip install --no-build-isolation --no-binary {1} {1}=={2}",
                            fmt::join(list, ";"), name->name,
                            quoted(std::string_view(name->version.text).substr(0, name->version.text.find('+'))));
  report.mend_why =
      "compiled for " + fmt::format("{}", fmt::join(list, " and ")) + " it fits, if its source is made for that";
  return true;
}

}  // namespace

void add_mends(std::vector<TargetReport>& reports, const Question& question) {
  for (TargetReport& report : reports) {
    if (report.verdict == Verdict::kFits || report.verdict == Verdict::kHost || question.survey) continue;
    if (!printable_path(report.target.target)) continue;
    if (!mend_by_other(report, reports) && !mend_by_python(report, question)) mend_by_compiling(report, question);
  }
}

}  // namespace flashfit::inspect
