#include "compiled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "proof/ptx/launch.hpp"
#include "proof/ptx/parser.hpp"
#include "runtime/images/build/cache.hpp"
#include "runtime/images/build/catalogue_recipes.hpp"
#include "runtime/images/build/closure.hpp"
#include "runtime/images/build/nvrtc.hpp"

namespace flashfit::testing {
namespace {

const std::filesystem::path kSource = SOURCE_DIR;

Result<std::unique_ptr<ptx::Program>> decoded(const std::string& name, const std::vector<std::byte>& bytes,
                                              const std::string& entry) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text = text.substr(0, text.find('\0'));
  const Result<ptx::Module> module = ptx::parse(name, text);
  if (!module) return tl::unexpected(module.error());
  return ptx::decode(*module, entry);
}

std::vector<std::string> flags_of(const Build& build) {
  std::vector<std::string> flags = {
      fmt::format("--gpu-architecture=compute_{}{}", build.target, build.own_features ? "a" : ""), "--std=c++20",
      "-default-device", "-lineinfo"};
  if (build.comparable) flags.emplace_back("-fmad=false");
  return flags;
}

Result<Compiled> compile(const std::string& source, const std::string& expression, const Build& build) {
  std::vector<std::string> flags = flags_of(build);
  for (const auto& folder : build.before) flags.push_back("-I" + folder.string());
  for (const auto& folder : {kSource / "kernels/arch/cuda", kSource}) flags.push_back("-I" + folder.string());
  static const Result<Nvrtc> nvrtc = Nvrtc::open(NVRTC);
  if (!nvrtc) return tl::unexpected(nvrtc.error());
  return nvrtc->compile(source, expression, flags, true);
}

thread_local const ptx::Program* running = nullptr;
thread_local KernelVariant running_variant;

}  // namespace

Result<std::unique_ptr<ptx::Program>> program_of(const KernelVariant& variant, const Build& build) {
  const Kernel kernel = flashfit::kernel_of(variant);
  static std::map<std::string, std::string> closures;  // by header: reading one takes longer than a small kernel
  if (!closures.contains(kernel.header)) {
    Result<std::string> read = closure_of(kernel.header, {kSource / "kernels/arch/cuda", kSource});
    if (!read) return tl::unexpected(read.error());
    closures[kernel.header] = std::move(*read);
  }
  static const std::string compiler = fingerprint(NVRTC).value();
  // Of the recipe, its options are for other code than these tests want.
  const Recipe recipe = make_recipe(kernel, variant.targets.front(), closures[kernel.header], compiler);
  const std::string name = fmt::format("{} for {}.ptx", variant.name, build.target);
  const ImageCache cache(CACHE);
  const std::string key = hash_of(fmt::format("{}\n{}", recipe.key, fmt::join(flags_of(build), " ")));
  if (build.before.empty())
    if (const auto cached = cache.get(key)) return decoded(name, cached->bytes, cached->entry);
  Result<Compiled> made = compile(recipe.source, recipe.expression, build);
  if (!made) return tl::unexpected(made.error());
  if (build.before.empty())
    if (Result<void> put = cache.put(key, {.entry = made->entry, .resources = {}, .bytes = made->bytes}); !put)
      return tl::unexpected(put.error());
  return decoded(name, made->bytes, made->entry);
}

Result<std::unique_ptr<ptx::Program>> program_of_source(const std::string& source, const std::string& expression,
                                                        const Build& build) {
  const Result<Compiled> made = compile(source, expression, build);
  if (!made) return tl::unexpected(made.error());
  return decoded("kernel.ptx", made->bytes, made->entry);
}

emulated::EmulatedKernel kernel_of(const KernelVariant& variant, const ptx::Program& program) {
  running = &program;
  running_variant = variant;
  return {variant,
          [](emu::Index3 grid, const void* params, const emu::Memory& memory, const emu::Options& options) {
            return ptx::launch(
                *running,
                {.grid = grid,
                 .threads = {running->max_threads, 1, 1},
                 .dynamic_shared = static_cast<std::size_t>(running_variant.shared_bytes)},
                {static_cast<const std::byte*>(params), static_cast<std::size_t>(running_variant.params_bytes)}, memory,
                options);
          },
          nullptr, program.target};
}

}  // namespace flashfit::testing
