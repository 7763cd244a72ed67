#include "images/build/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "images/build/closure.hpp"

namespace flashfit {
namespace {

std::string literal_of(const ForwardConfig& c) {
  return fmt::format(
      "flashfit::ForwardConfig{{.dtype = flashfit::DType::{}, .head_dim = {}, .head_dim_v = {}, .block_m = {}, "
      ".block_n = {}, .warps = {}, .stages = {}, .min_blocks = {}, .column_warps = {}, .held_steps = {}, "
      ".copy_parts = {}, .early_tiles = {}, .trusting = {}, .kind = flashfit::ForwardKind::{}}}",
      c.dtype == DType::kF16 ? "kF16" : "kBF16", c.head_dim, c.head_dim_v, c.block_m, c.block_n, c.warps, c.stages,
      c.min_blocks, c.column_warps, c.held_steps, c.copy_parts, c.early_tiles, c.trusting,
      c.kind == ForwardKind::kGeneral ? "kGeneral" : "kPlain");
}

constexpr const char* kForwardHeader = "attention/forward.cuh";

}  // namespace

std::string name_of(const Recipe& r) { return fmt::format("{} for {}", name_of(r.variant->config), r.target.str()); }

Result<std::vector<Recipe>> make_recipes(const std::vector<int>& targets, const std::filesystem::path& source_dir,
                                         const std::string& nvrtc) {
  const Result<std::string> closure = closure_of(kForwardHeader, {source_dir / "arch/cuda", source_dir});
  if (!closure) return tl::unexpected(closure.error());
  std::vector<Recipe> recipes;
  for (const ForwardVariant& variant : forward_variants())
    for (const Target& target : variant.targets) {
      if (std::find(targets.begin(), targets.end(), target.cc) == targets.end()) continue;
      Recipe r{
          .variant = &variant,
          .target = target,
          .source = fmt::format("#include \"{}\"\n", kForwardHeader),
          .expression = fmt::format("flashfit::arch::entry<flashfit::ForwardKernel<{}>>", literal_of(variant.config)),
          .options = {
              fmt::format("--gpu-architecture={}_{}", target.kind == Target::Kind::kPtx ? "compute" : "sm", target.cc),
              "--std=c++20", "-default-device", "--ptxas-options=-v"}};
      r.key = hash_of(
          fmt::format("{}\n{}\n{}\n{}\n{}", nvrtc, fmt::join(r.options, " "), r.expression, r.source, *closure));
      recipes.push_back(std::move(r));
    }
  return recipes;
}

}  // namespace flashfit
