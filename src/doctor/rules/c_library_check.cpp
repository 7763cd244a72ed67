#include "doctor/binaries/demangle.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/packaging/platform_tag.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/system_libraries.hpp"

namespace flashfit::doctor {
namespace {

/// The least of what the wheel's manylinux tags promise; nothing if it is no wheel or another tag lets it in anyway.
std::optional<RuntimeVersion> promised_glibc(const Target& target) {
  const auto name = parse_wheel_name(target.file_name);
  if (!name) return std::nullopt;
  std::optional<RuntimeVersion> least;
  for (const WheelTag& tag : name->tags) {
    const auto platform = parse_platform_tag(tag.platform);
    if (!platform || platform->system != Platform::System::kGlibc || !platform->versioned) return std::nullopt;
    const RuntimeVersion version{platform->major, platform->minor, 0};
    if (!least || version < *least) least = version;
  }
  return least;
}

bool is_glibc(const Question& question) {
  return question.platform && question.platform->system == Platform::System::kGlibc &&
         question.platform->known_version();
}

/// "GLIBC_2.34 (pthread_create, dlsym)"
std::string described(std::string_view prefix, const RuntimeFloor& floor) {
  std::vector<std::string> names;
  for (const std::string& symbol : floor.symbols) names.push_back(demangled(symbol, 60));
  std::string text = std::string(prefix) + floor.version.str();
  return names.empty() ? text : text + " (" + listed(names) + ")";
}

struct Worst {
  const Binary* binary = nullptr;
  RuntimeFloor floor;
};

/// The binary that needs the newest; libraries of musl and of Windows need none.
Worst worst_of(const Target& target, std::string_view prefix) {
  Worst worst;
  for (const Binary& binary : target.binaries) {
    auto floor = floor_of(binary, prefix);
    if (floor && (worst.binary == nullptr || floor->version > worst.floor.version))
      worst = {&binary, std::move(*floor)};
  }
  return worst;
}

bool brings_libstdcxx(const Target& target) {
  for (const Binary& binary : target.binaries)
    if (binary.path.substr(binary.path.rfind('/') + 1).starts_with("libstdc++")) return true;
  return false;
}

}  // namespace

void check_c_library(const Target& target, const Question& question, std::vector<Problem>& problems) {
  const bool known = is_glibc(question);
  const RuntimeVersion here =
      known ? RuntimeVersion{question.platform->major, question.platform->minor, 0} : RuntimeVersion{};
  const Worst worst = worst_of(target, "GLIBC_");
  if (known) {
    for (const Binary& binary : target.binaries) {
      const auto floor = floor_of(binary, "GLIBC_");
      if (!floor || floor->version <= here) continue;
      problems.push_back({"FF320", Severity::kMisfit,
                          fmt::format("needs {}; this system has glibc {}", described("GLIBC_", *floor), here.str()),
                          binary.path, fmt::format("a system with glibc {} or later", worst.floor.version.str())});
    }
  }
  const auto promised = promised_glibc(target);
  if (worst.binary == nullptr || !promised || worst.floor.version <= *promised) return;
  const bool fits_here = known && worst.floor.version <= here;
  problems.push_back({"FF321", known ? Severity::kNote : Severity::kDegrades,
                      fmt::format("the tag promises glibc {}, but {} is needed{}", promised->str(),
                                  described("GLIBC_", worst.floor), fits_here ? ", which this system has" : ""),
                      worst.binary->path, ""});
}

void check_cxx_library(const Target& target, const Question& question, std::vector<Problem>& problems) {
  if (brings_libstdcxx(target)) return;
  const Worst worst = worst_of(target, "GLIBCXX_");
  if (worst.binary == nullptr || worst.floor.version.major != 3 || worst.floor.version.minor != 4) return;
  const int needed = worst.floor.version.patch;
  const std::string gcc = gcc_of_glibcxx(needed);
  const std::string fix = fmt::format("libstdc++ of GCC {} or later (conda's libstdcxx-ng, or a newer system)", gcc);
  if (is_glibc(question)) {
    const Platform& here = *question.platform;
    if (needed <= glibcxx_of_glibc(here.major, here.minor)) return;
    problems.push_back({"FF322", Severity::kUnknown,
                        fmt::format("needs {}, of GCC {}: systems with glibc {}.{} mostly have an older libstdc++",
                                    described("GLIBCXX_", worst.floor), gcc, here.major, here.minor),
                        worst.binary->path, fix});
    return;
  }
  const auto promised = promised_glibc(target);
  if (!promised || needed <= glibcxx_of_glibc(promised->major, promised->minor)) return;
  problems.push_back({"FF322", Severity::kDegrades,
                      fmt::format("needs {}, of GCC {}: newer than the tag's glibc {} promises",
                                  described("GLIBCXX_", worst.floor), gcc, promised->str()),
                      worst.binary->path, fix});
}

}  // namespace flashfit::doctor
