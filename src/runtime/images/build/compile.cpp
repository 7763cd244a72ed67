#include "runtime/images/build/compile.hpp"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <utility>

#include "runtime/images/build/compiler_probe.hpp"
#include "runtime/images/build/nvrtc.hpp"
#include "runtime/images/build/resources.hpp"
#include "runtime/images/build/workers.hpp"

namespace flashfit {
namespace {

Result<void> compile(const Recipe& r, const Nvrtc& nvrtc, const std::vector<std::filesystem::path>& folders,
                     const ImageCache& cache) {
  std::vector<std::string> flags = r.options;
  for (const auto& folder : folders) flags.push_back("-I" + folder.string());
  Result<Compiled> made = nvrtc.compile(r.source, r.expression, flags, r.ptx());
  if (!made) return fail(made.error().code, fmt::format("{}:\n{}", name_of(r), made.error().message));
  CachedImage image{.entry = made->entry, .resources = {}, .bytes = std::move(made->bytes)};
  if (!r.ptx()) {
    const Result<Resources> resources = parse_resources(made->log);
    if (!resources) return fail(resources.error().code, fmt::format("{}: {}", name_of(r), resources.error().message));
    image.resources = *resources;
  }
  return cache.put(r.key, image);
}

}  // namespace

Result<int> compile_missing(const std::vector<Recipe>& all, const CompileOptions& options, const ImageCache& cache,
                            const std::function<void(const std::string& name, int done, int of)>& progress) {
  std::vector<const Recipe*> missing;
  for (const Recipe& r : all)
    if (!cache.get(r.key)) missing.push_back(&r);
  if (missing.empty()) return 0;
  const Result<Nvrtc> nvrtc = Nvrtc::open(options.nvrtc);
  if (!nvrtc) return tl::unexpected(nvrtc.error());
  const Result<std::string> probed = probe_compiler(*nvrtc);
  if (!probed) return tl::unexpected(probed.error());
  if (options.probed) options.probed(*probed);
  const int count = static_cast<int>(missing.size());
  int done = 0;
  const Result<void> ran = run_in_processes(
      count, options.jobs, [&](int i) { return compile(*missing[i], *nvrtc, options.folders, cache); },
      [&](int i) { progress(name_of(*missing[i]), ++done, count); });
  if (!ran) return tl::unexpected(ran.error());
  return count;
}

Result<CachedImage> image_of(const Recipe& made, const ImageCache& cache) {
  std::optional<CachedImage> image = cache.get(made.key);
  if (!image)
    return fail(Code::kInternal, fmt::format("{}: left the cache while this ran; run it again", name_of(made)));
  return std::move(*image);
}

Result<void> write_output(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return fail(Code::kInvalidArgument, fmt::format("--output {}: cannot be written", path));
  return {};
}

}  // namespace flashfit
