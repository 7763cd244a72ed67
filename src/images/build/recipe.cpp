#include "images/build/recipe.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace flashfit {
namespace {

namespace fs = std::filesystem;

std::string hash(const std::string& text) {
  const XXH128_hash_t h = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

Result<std::string> read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf()))
    return fail(Code::kInvalidArgument, fmt::format("{} cannot be read", file.string()));
  return text.str();
}

/// Appends the text of `file` and of what it includes, each once.
/// Kernels include only files of ours, from src/ and the arch backend.
Result<void> append_closure(const fs::path& file, const fs::path& source_dir, std::set<fs::path>& seen,
                            std::string& out) {
  if (!seen.insert(file).second) return {};
  const Result<std::string> text = read(file);
  if (!text) return tl::unexpected(text.error());
  out += fmt::format("// {}\n{}", file.lexically_relative(source_dir).string(), *text);
  static const std::regex include(R"re(#include\s+["<]([^">]+)[">])re");
  for (std::sregex_iterator i(text->begin(), text->end(), include), end; i != end; ++i) {
    const std::string name = (*i)[1];
    const fs::path backend = source_dir / "arch/cuda" / name;
    if (Result<void> r = append_closure(fs::exists(backend) ? backend : source_dir / name, source_dir, seen, out); !r)
      return r;
  }
  return {};
}

std::string literal_of(const ForwardConfig& c) {
  return fmt::format(
      "flashfit::ForwardConfig{{.dtype = flashfit::DType::{}, .head_dim = {}, .block_m = {}, .block_n = {}, .warps = "
      "{}, .stages = {}, "
      ".min_blocks = {}}}",
      c.dtype == DType::kF16 ? "kF16" : "kBF16", c.head_dim, c.block_m, c.block_n, c.warps, c.stages, c.min_blocks);
}

constexpr const char* kForwardHeader = "attention/forward.cuh";

}  // namespace

std::string name_of(const Recipe& r) { return fmt::format("{} for {}", name_of(r.variant->config), r.target.str()); }

Result<std::string> fingerprint(const fs::path& file) {
  const Result<std::string> text = read(file);
  if (!text) return tl::unexpected(text.error());
  return hash(*text);
}

Result<std::vector<Recipe>> make_recipes(const std::vector<int>& targets, const fs::path& source_dir,
                                         const std::string& nvrtc) {
  std::string closure;
  std::set<fs::path> seen;
  if (Result<void> r = append_closure(source_dir / kForwardHeader, source_dir, seen, closure); !r)
    return tl::unexpected(r.error());
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
      r.key =
          hash(fmt::format("{}\n{}\n{}\n{}\n{}", nvrtc, fmt::join(r.options, " "), r.expression, r.source, closure));
      recipes.push_back(std::move(r));
    }
  return recipes;
}

}  // namespace flashfit
