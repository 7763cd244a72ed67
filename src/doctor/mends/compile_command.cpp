#include "doctor/mends/compile_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "doctor/knowledge/data.hpp"
#include "doctor/mends/mends.hpp"

namespace flashfit::doctor {
namespace {

/// A package whose build asks for more than pip and PyTorch's list of GPUs.
struct Build {
  std::string_view package;
  std::string_view origin;          ///< where its source is, if the index has another or an older one; "" if it has it
  std::string_view options;         ///< for pip, without which it leaves out its kernels
  std::string_view variable;        ///< that takes the targets, in digits; "" if PyTorch's takes any GPU
  std::array<int, 4> targets = {};  ///< that `variable` may name, oldest first: 80 is 8.0
  std::string_view needs;           ///< packages that its build imports, beside kNeeds
  std::string_view source;          ///< who says so
};

// Builds that see the PyTorch which is installed see no packages but those that are: pip brings none of these.
constexpr std::string_view kNeeds = "setuptools wheel packaging ninja";

constexpr auto kBuilds = std::to_array<Build>({
    {.package = "apex",
     .origin = "git+https://github.com/NVIDIA/apex",
     .options = "-C--build-option=--cpp_ext -C--build-option=--cuda_ext ",
     .source = "NVIDIA/apex, README, \"Custom C++/CUDA Extensions and Install Options\"; the index's apex is another"},
    {.package = "flash-attn",
     .variable = "FLASH_ATTN_CUDA_ARCHS",
     .targets = {80, 90, 100, 120},
     .needs = " psutil",
     .source = "setup.py of 2.8.3, cuda_archs and NinjaBuildExtension"},
    {.package = "sageattention",
     .origin = "git+https://github.com/thu-ml/SageAttention",
     .source = "thu-ml/SageAttention, README; the index has it up to 1.0.6, which has no kernels of its own"},
});

const Build* find_build(std::string_view package) {
  const auto* const found =
      std::find_if(kBuilds.begin(), kBuilds.end(), [&](const Build& build) { return build.package == package; });
  return found == kBuilds.end() ? nullptr : found;
}

/// The newest target that runs on the GPU, in digits: "80"; "" if none does.
std::string target_for(const Build& build, ComputeCapability gpu) {
  std::string newest;
  for (const int cc : build.targets)
    if (cc != 0 && runs_on({.cc = cc}, gpu)) newest = std::to_string(cc);
  return newest;
}

}  // namespace

bool knows_source_of(std::string_view package) { return find_build(package) != nullptr; }

std::string compile_command(const SourceToCompile& source, const std::set<ComputeCapability>& gpus) {
  static constexpr Build kUsual{};
  const Build* const known = find_build(source.name);
  const Build& build = known == nullptr ? kUsual : *known;
  std::vector<std::string> list;
  for (const ComputeCapability gpu : gpus) {
    std::string code = build.variable.empty() ? gpu.str() : target_for(build, gpu);
    if (code.empty()) return "";
    if (list.empty() || list.back() != code) list.push_back(std::move(code));
  }
  const std::string origin = source.origin.empty() ? std::string(build.origin) : source.origin;
  if (origin.empty() && knowledge_data().lacks_sources(source.name)) return "";
  const std::string what = !origin.empty()
                               ? shell_word(origin)
                               : fmt::format("--no-binary {0} {0}{1}", source.name,
                                             source.version.empty() ? "" : "==" + shell_word(source.version));
  return fmt::format("{}{}pip install {}--no-cache-dir {}{}{}",
                     source.uses_torch ? fmt::format("pip install {}{} && ", kNeeds, build.needs) : "",
                     list.empty()
                         ? ""
                         : fmt::format("{}='{}' ", build.variable.empty() ? "TORCH_CUDA_ARCH_LIST" : build.variable,
                                       fmt::join(list, ";")),
                     source.uses_torch ? "--no-build-isolation " : "",
                     source.is_installed ? "--force-reinstall --no-deps " : "", build.options, what);
}

}  // namespace flashfit::doctor
