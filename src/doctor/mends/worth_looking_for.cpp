// What no command changes: the driver and the system are the host's.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/gpu/driver_versions.hpp"
#include "doctor/gpu_code/toolkit_versions.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {
namespace {

/// CUDA versions of driver branches, oldest first.
constexpr auto kDrivers =
    std::to_array<CudaVersion>({11000, 11010, 11020, 11040, 11050, 11060, 11070, 11080, 12000, 12010, 12020,
                                12030, 12040, 12050, 12060, 12070, 12080, 12090, 13000, 13010, 13020});

/// Systems by the glibc that they have; source: the distributions' lists of packages.
struct System {
  int minor;
  std::string_view names;
};
constexpr auto kSystems = std::to_array<System>({{17, "RHEL 7"},
                                                 {28, "Debian 10, RHEL 8"},
                                                 {31, "Debian 11, Ubuntu 20.04"},
                                                 {34, "RHEL 9"},
                                                 {35, "Ubuntu 22.04"},
                                                 {36, "Debian 12"},
                                                 {39, "Ubuntu 24.04, RHEL 10"},
                                                 {41, "Debian 13"}});
constexpr int kNewestGlibc = 45;

std::string another_driver(const TargetReport& report, const Question& question) {
  if (question.driver == 0 || !has_problem(report, {"FF103", "FF104", "FF105", "FF106"})) return "";
  Question other = question;
  const auto fits_under = [&](CudaVersion driver) {
    other.driver = driver;
    return fits(report.target, other);
  };
  // The first that is newer, else the last that is older: drivers leave old GPUs behind.
  const auto* const newer =
      std::find_if(std::upper_bound(kDrivers.begin(), kDrivers.end(), question.driver), kDrivers.end(), fits_under);
  if (newer != kDrivers.end()) {
    const bool linux = !question.platform || question.platform->system == Platform::System::kGlibc;
    const std::string release = linux ? bundled_driver(*newer) : "";
    return fmt::format("driver {} or later (CUDA {}); a driver is the host's, and no package changes it",
                       release.empty() ? std::to_string(first_branch(*newer)) : release, str(*newer));
  }
  for (auto older = std::lower_bound(kDrivers.begin(), kDrivers.end(), question.driver); older != kDrivers.begin();)
    if (fits_under(*--older))
      return fmt::format("driver branch {} (CUDA {}), the newest that serves all that was asked", first_branch(*older),
                         str(*older));
  return "";
}

std::string newer_system(const TargetReport& report, const Question& question) {
  const bool glibc =
      question.platform && question.platform->system == Platform::System::kGlibc && question.platform->known_version();
  if (!glibc || !has_problem(report, {"FF202", "FF320", "FF322"})) return "";
  Question other = question;
  for (int minor = question.platform->minor + 1; minor <= kNewestGlibc; ++minor) {
    other.platform->minor = minor;
    if (!fits(report.target, other)) continue;
    const auto* const system =
        std::find_if(kSystems.begin(), kSystems.end(), [&](const System& s) { return s.minor >= minor; });
    return fmt::format("a system with glibc 2.{} or later{}, or a container of one", minor,
                       system == kSystems.end() ? "" : fmt::format(" ({} or newer)", system->names));
  }
  return "";
}

/// The file name that the same version would have for the platform asked for.
std::string wheel_of_the_platform(const TargetReport& report, const Question& question) {
  if (!question.platform || !has_problem(report, {"FF202", "FF310"})) return "";
  const auto name = parse_wheel_name(report.target.file_name);
  if (!name) return "";
  const Platform& here = *question.platform;
  const bool linux = here.system == Platform::System::kGlibc;
  const std::string tag =
      here.system == Platform::System::kWindows ? (here.arch == "x86" ? "win32" : "win_" + here.arch)
      : linux && here.known_version()           ? fmt::format("manylinux_{}_{}_{}", here.major, here.minor, here.arch)
      : linux                                   ? "linux_" + here.arch
                                                : "";
  if (tag.empty()) return "";
  const WheelTag& first = name->tags.front();
  const std::string like =
      fmt::format("{}-{}-{}-{}-{}.whl", report.target.file_name.substr(0, report.target.file_name.find('-')),
                  name->version.text, first.python, first.abi, tag);
  const Target named{.target = like, .file_name = like, .kind = TargetKind::kName};
  if (!is_plain_path(like) || !fits(named, question)) return "";
  return fmt::format("a file whose name ends in {}{}: {} installs there", tag,
                     linux && here.known_version() ? ", or an older manylinux" : "", like);
}

}  // namespace

std::string worth_looking_for(const TargetReport& report, const Question& question) {
  for (const auto& look : {another_driver, newer_system, wheel_of_the_platform})
    if (std::string line = look(report, question); !line.empty()) return line;
  return "";
}

}  // namespace flashfit::doctor
