// FF202: a package that was installed for another machine or system, as `pip install --platform`, and folders copied
// from elsewhere, leave it: its compiled modules have names that no Python here looks for, or another machine's code.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.hpp"
#include "doctor/environment/site.hpp"
#include "doctor/packaging/metadata.hpp"
#include "doctor/packaging/platform.hpp"

namespace flashfit::doctor::environment {

void check_elsewhere(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  const auto wheel = doctor::parse_wheel_file(d.wheel);
  if (!site.question.platform || !wheel || wheel->tags.empty()) return;
  // What the files need of this system's version is judged by themselves.
  doctor::Platform here = *site.question.platform;
  here.major = here.minor = 0;
  std::string why;
  for (const doctor::WheelTag& tag : wheel->tags) {
    why = doctor::platform_misfit(tag.platform, here);
    if (why.empty()) return;
  }
  // Of a package without compiled files the name alone is wrong.
  const bool compiled = std::any_of(package.files.begin(), package.files.end(), [](const FileFacts& file) {
    return std::any_of(file.binaries.begin(), file.binaries.end(), [](const Binary& binary) {
      return binary.kind == doctor::BinaryKind::kElf || binary.kind == doctor::BinaryKind::kPe;
    });
  });
  if (!compiled) return;
  report.problems.push_back({"FF202", Severity::kMisfit, "installed for another system: " + why, "", here.str()});
  if (report.mend.empty()) {
    report.mend = fmt::format("pip install --force-reinstall --no-deps {}=={}", d.name, printable(d.version, 60));
    report.mend_why = "pip takes the file for this system";
  }
}

}  // namespace flashfit::doctor::environment
