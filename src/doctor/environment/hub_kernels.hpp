#pragma once
// Kernels that the `kernels` package downloaded from the hub: for each repository a build for one PyTorch and CUDA.
#include <optional>
#include <string>
#include <vector>

#include "doctor/environment/site.hpp"

namespace flashfit::doctor::environment {

/// "torch28-cxx11-cu128-x86_64-linux", as the hub names its builds.
struct HubVariant {
  int torch_major = 0, torch_minor = 0;  ///< 0.0: any
  std::optional<bool> cxx11;
  int cuda = 0;        ///< 128; 0: not said
  bool other = false;  ///< for another accelerator or the CPU
  std::string arch;    ///< "x86_64"; "" for any
};
HubVariant parse_hub_variant(std::string_view name);

/// A downloaded repository.
struct HubKernel {
  std::string name;                   ///< "kernels-community/activation", printable
  std::string revision;               ///< its first characters
  std::vector<std::string> variants;  ///< printable
  /// GPUs that the variant's metadata.json declares: "9.0", "9.0a", "9.0+PTX"; empty if it declares none.
  std::vector<std::string> declared;
  Package package;     ///< the files of the variant that fits the site's torch; none if none does
  bool found = false;  ///< whether one does
};

/// Those in the hub's cache (Variables::hub_cache). None where torch is not installed: it is torch that picks.
std::vector<HubKernel> read_hub_kernels(const dynamic_loader::FileTree& tree, const Site& site,
                                        const std::string& cache);

/// FF711, what judge_package says of the files, and FF715: GPUs that are declared and that the files have no code for.
doctor::TargetReport judge_hub_kernel(const Site& site, const HubKernel& kernel);

}  // namespace flashfit::doctor::environment
