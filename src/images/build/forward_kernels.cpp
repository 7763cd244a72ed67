#include "images/build/forward_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "images/build/closure.hpp"

namespace flashfit {
namespace {

std::string literal_of(const ForwardConfig& c) {
  return fmt::format(
      "ForwardConfig{{.dtype = DType::{}, .head_dim = {}, .head_dim_v = {}, .block_m = {}, .block_n = {}, .warps = {}, "
      ".stages = {}, .min_blocks = {}, .column_warps = {}, .held_steps = {}, .copy_parts = {}, .early_tiles = {}, "
      ".trusting = {}, .kind = ForwardKind::{}}}",
      c.dtype == DType::kF16 ? "kF16" : "kBF16", c.head_dim, c.head_dim_v, c.block_m, c.block_n, c.warps, c.stages,
      c.min_blocks, c.column_warps, c.held_steps, c.copy_parts, c.early_tiles, c.trusting,
      c.kind == ForwardKind::kGeneral ? "kGeneral" : "kPlain");
}

}  // namespace

Kernel kernel_of(const ForwardVariant& v) {
  return {.name = name_of(v.config),
          .header = "attention/forward.cuh",
          .type = fmt::format("ForwardKernel<{}>", literal_of(v.config)),
          .limits = KernelLimits{.spill_bytes = v.spill_bytes, .shared_bytes = forward_shared_bytes(v.config)}};
}

Result<std::vector<Recipe>> forward_recipes(const std::vector<int>& ccs, const std::filesystem::path& source_dir,
                                            const std::string& nvrtc) {
  std::vector<Recipe> recipes;
  std::string closure;
  for (const ForwardVariant& v : forward_variants()) {
    const Kernel kernel = kernel_of(v);
    if (closure.empty()) {
      Result<std::string> read = closure_of(kernel.header, {source_dir / "arch/cuda", source_dir});
      if (!read) return tl::unexpected(read.error());
      closure = std::move(*read);
    }
    for (const Target& target : v.targets)
      if (std::ranges::find(ccs, target.cc) != ccs.end())
        recipes.push_back(make_recipe(kernel, target, closure, nvrtc));
  }
  return recipes;
}

}  // namespace flashfit
