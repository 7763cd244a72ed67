// FF202, FF203: a package that pip would not install here, as it was installed for another machine, system or Python.
// `pip install --platform`, and folders copied from elsewhere, leave such: compiled modules have names that no Python
// here looks for, or another machine's code.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.hpp"
#include "doctor/environment/site.hpp"
#include "doctor/packaging/metadata.hpp"
#include "doctor/packaging/platform.hpp"
#include "doctor/packaging/python_module.hpp"
#include "doctor/rules/loads_on.hpp"

namespace flashfit::doctor::environment {
namespace {

/// Of a package that is compiled in part; of one that is not, the name alone would be wrong.
bool is_compiled(const Package& package) {
  return std::any_of(package.files.begin(), package.files.end(), [](const FileFacts& file) {
    return std::any_of(file.binaries.begin(), file.binaries.end(), [](const Binary& binary) {
      using Kind = doctor::BinaryKind;
      return binary.kind == Kind::kElf || binary.kind == Kind::kPe || binary.kind == Kind::kMachO;
    });
  });
}

/// Why none of the wheel's tags fits; "" if one does, or there is none.
std::string tag_misfit(const std::vector<doctor::WheelTag>& tags, doctor::Platform here) {
  // What the files need of this system's version is judged by themselves.
  here.major = here.minor = 0;
  std::string why;
  for (const doctor::WheelTag& tag : tags) {
    why = doctor::platform_misfit(tag.platform, here);
    if (why.empty()) break;
  }
  return why;
}

/// Of a package that no tag tells of, as conda's and eggs are: a module for elsewhere, where none is for here.
const Binary* module_for_elsewhere(const Package& package, const doctor::Question& question) {
  const Binary* elsewhere = nullptr;
  for (const FileFacts& file : package.files)
    for (const Binary& binary : file.binaries) {
      if (binary.machine.empty() || !doctor::is_named_as_module(binary.path)) continue;
      if (!doctor::is_alien(binary, question.platform)) return nullptr;
      if (elsewhere == nullptr) elsewhere = &binary;
    }
  return elsewhere;
}

bool concerns_gpus(const Binary& binary) {
  return !binary.containers.empty() || binary.extension.torch_abi != doctor::TorchAbi::kNone;
}

/// Installers go by Requires-Python. What was installed all the same may work, which no file tells.
void check_python(const Site& site, const Distribution& d, doctor::TargetReport& report) {
  const auto metadata = doctor::parse_metadata(d.metadata);
  if (!metadata || !site.question.python) return;
  std::string why = doctor::python_misfit(*metadata, *site.question.python);
  if (why.empty()) return;
  report.unsettled = true;
  report.problems.push_back({"FF203", Severity::kNote, std::move(why) + "; installers refuse it for this Python", "",
                             "Python " + printable(metadata->requires_python)});
}

}  // namespace

void check_elsewhere(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  check_python(site, d, report);
  if (!site.question.platform || !is_compiled(package)) return;
  const doctor::Platform& here = *site.question.platform;
  const auto wheel = doctor::parse_wheel_file(d.wheel);
  const bool tagged = wheel && !wheel->tags.empty();
  Problem problem{"FF202", Severity::kMisfit, tagged ? tag_misfit(wheel->tags, here) : "", "", here.str()};
  if (!tagged)
    if (const Binary* const module = module_for_elsewhere(package, site.question)) {
      problem.severity = concerns_gpus(*module) ? Severity::kMisfit : Severity::kDegrades;
      problem.message = fmt::format("its modules are for {} alone", doctor::machine_text(*module));
      problem.member = package.relative(module->path);
    }
  if (problem.message.empty()) return;
  problem.message = "installed for another system: " + problem.message;
  report.problems.push_back(std::move(problem));
  mend_by_reinstalling(d, "pip takes the file for this system", report);
}

}  // namespace flashfit::doctor::environment
