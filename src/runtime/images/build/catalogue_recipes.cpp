#include "runtime/images/build/catalogue_recipes.hpp"

#include <algorithm>
#include <map>

#include "runtime/images/build/closure.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit {

Kernel kernel_of(const KernelVariant& variant) {
  return {.name = variant.name,
          .header = variant.family->header,
          .type = variant.type,
          .limits = KernelLimits{.spill_bytes = variant.spill_bytes, .shared_bytes = variant.shared_bytes}};
}

Result<std::vector<Recipe>> catalogue_recipes(const std::vector<int>& ccs, const std::filesystem::path& source_dir,
                                              const std::string& nvrtc) {
  std::vector<Recipe> recipes;
  std::map<std::string, std::string> closures;  // by header: a family's variants share theirs
  for (const KernelVariant& variant : catalogue()) {
    const Kernel kernel = kernel_of(variant);
    if (!closures.contains(kernel.header)) {
      Result<std::string> read = closure_of(kernel.header, {source_dir / "kernels/arch/cuda", source_dir});
      if (!read) return tl::unexpected(read.error());
      closures[kernel.header] = std::move(*read);
    }
    for (const Target& target : variant.targets)
      if (std::ranges::find(ccs, target.cc) != ccs.end())
        recipes.push_back(make_recipe(kernel, target, closures[kernel.header], nvrtc));
  }
  return recipes;
}

}  // namespace flashfit
