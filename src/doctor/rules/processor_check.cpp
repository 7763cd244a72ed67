#include "doctor/rules/all_checks.hpp"

namespace flashfit::doctor {

void check_executable_stack(const Target& target, const Question& question, std::vector<Problem>& problems) {
  // glibc 2.41 release notes: dlopen no longer makes the stack executable.
  constexpr int kRefusingMinor = 41;
  const bool known =
      question.platform && question.platform->system == Platform::System::kGlibc && question.platform->known_version();
  const bool refuses = known && (question.platform->major > 2 || question.platform->minor >= kRefusingMinor);
  for (const Binary& binary : target.binaries) {
    if (!binary.executable_stack || binary.kind != BinaryKind::kElf) continue;
    problems.push_back({"FF323", refuses ? Severity::kMisfit : Severity::kNote,
                        refuses ? "asks for an executable stack, which this system's glibc refuses"
                                : "asks for an executable stack; glibc 2.41 and later refuse to load it",
                        binary.path,
                        "patchelf --clear-execstack on the file, or GLIBC_TUNABLES=glibc.rtld.execstack=2"});
  }
}

void check_processor(const Target& target, const Question& question, std::vector<Problem>& problems) {
  // x86-64 psABI, "Micro-Architecture Levels".
  constexpr const char* kMeans[] = {"", "", "SSE4.2 (2009)", "AVX2 (Haswell, Zen)", "AVX-512 (Skylake-X, Zen 4)"};
  constexpr int kLevels = 4;
  const Binary* worst = nullptr;
  for (const Binary& binary : target.binaries)
    if (binary.extension.x86_level <= kLevels &&
        binary.extension.x86_level > (worst == nullptr ? 1 : worst->extension.x86_level))
      worst = &binary;
  if (worst == nullptr) return;
  const int level = worst->extension.x86_level;
  const bool lacks = question.x86_level != 0 && level > question.x86_level;
  problems.push_back({"FF324", lacks ? Severity::kMisfit : Severity::kNote,
                      lacks ? fmt::format("needs x86-64-v{}: {}; this processor is x86-64-v{}, and meets an illegal "
                                          "instruction in it",
                                          level, kMeans[level], question.x86_level)
                            : fmt::format("says that it needs x86-64-v{}: {}", level, kMeans[level]),
                      worst->path, lacks ? fmt::format("a build for x86-64-v{}", question.x86_level) : ""});
}

}  // namespace flashfit::doctor
