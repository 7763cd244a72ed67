// FF310, FF311: libraries for another machine or system than the one asked for.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "doctor/packaging/python_module.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/loads_on.hpp"

namespace flashfit::doctor {
namespace {

using System = Platform::System;

/// Launchers for Windows, which are copied and not loaded, helpers for macOS, and what is left of 32-bit systems lie in
/// many packages, such as setuptools: they say nothing of the others.
bool is_bystander(const Binary& b) {
  const bool helper = b.kind == BinaryKind::kMachO && !b.path.ends_with(".so") && !b.path.ends_with(".dylib");
  return helper || b.path.ends_with(".exe") || b.machine == "x86" || b.machine == "i686" || b.machine == "armv7l";
}

/// Where every tag is for any Python, a module for one of them is what the package works without.
bool is_for_any_python(const tl::expected<WheelName, Error>& name) {
  return name && std::all_of(name->tags.begin(), name->tags.end(), [](const WheelTag& t) {
           return t.abi == "none" && t.python.starts_with("py") && t.platform == "any";
         });
}

bool is_for_one_python(const Binary& b) {
  const auto module = parse_python_module(b.path);
  return module && module->minor >= 0;
}

}  // namespace

std::string machine_text(const Binary& b) {
  const char* const system = b.kind == BinaryKind::kMachO ? "macOS" : b.windows ? "Windows" : "Linux";
  return fmt::format("{} {}", system, b.machine);
}

bool loads_on(const Binary& b, const Platform& here) {
  const std::string arch = here.arch == "arm64" ? "aarch64" : here.arch == "amd64" ? "x86_64" : here.arch;
  const std::string own = b.machine == "arm64" ? "aarch64" : b.machine == "amd64" ? "x86_64" : b.machine;
  if (b.kind == BinaryKind::kMachO) return here.system == System::kMacos && (own == arch || b.machine == "universal2");
  const bool linux = here.system == System::kGlibc || here.system == System::kMusl;
  return own == arch && (b.windows ? here.system == System::kWindows : linux);
}

void check_machine(const Target& target, const Question& question, std::vector<Problem>& problems) {
  const auto name = target.kind == TargetKind::kWheel ? parse_wheel_name(target.file_name)
                                                      : tl::unexpected(Error{Code::kInvalidArgument, ""});
  const bool any_python = is_for_any_python(name);
  std::set<std::string> machines;
  std::size_t loads = 0;
  const Binary* alien = nullptr;
  for (const Binary& b : target.binaries) {
    if (b.machine.empty()) continue;
    if (question.platform && loads_on(b, *question.platform)) {
      ++loads;
    } else if (!b.path.empty() && (is_bystander(b) || (any_python && is_for_one_python(b)))) {
      continue;
    } else if (alien == nullptr) {
      alien = &b;
    }
    machines.insert(machine_text(b));
  }
  if (machines.empty()) return;
  const bool tag_said =
      std::any_of(problems.begin(), problems.end(), [](const Problem& p) { return p.code == "FF202"; });
  // A wheel for several systems brings libraries for each.
  if (question.platform && loads == 0 && !tag_said && alien != nullptr)
    problems.push_back({"FF310", Severity::kMisfit,
                        fmt::format("made for {}, not your {}", machine_text(*alien), question.platform->str()),
                        alien->path, "a build for " + question.platform->str()});
  if (name && std::all_of(name->tags.begin(), name->tags.end(), [](const WheelTag& t) { return t.platform == "any"; }))
    problems.push_back({"FF311", Severity::kNote,
                        fmt::format("tagged for any platform, but has libraries for {}", *machines.begin()), "", ""});
}

}  // namespace flashfit::doctor
