// flashfit_kernel_images: compiles the kernels of a list and packs their images into one blob, or writes one image as a
// file for who launches it through the driver.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>

#include "runtime/images/blob.hpp"
#include "runtime/images/build/cache.hpp"
#include "runtime/images/build/closure.hpp"
#include "runtime/images/build/compile.hpp"
#include "runtime/images/build/kernel_list.hpp"
#include "runtime/images/build/resources.hpp"

namespace flashfit {
namespace {

struct Options {
  std::string nvrtc, cache, source, output, only;
  std::vector<std::string> lists, include;
  int jobs = 2;
};

Result<void> build(const Options& o) {
  std::vector<Recipe> recipes;
  std::vector<std::filesystem::path> folders = {o.source + "/kernels/arch/cuda", o.source};
  folders.insert(folders.end(), o.include.begin(), o.include.end());
  const ImageCache cache(o.cache);
  if (!o.nvrtc.empty()) {
    const Result<std::string> compiler = fingerprint(o.nvrtc);
    if (!compiler) return fail(Code::kInvalidArgument, fmt::format("--nvrtc {}: no such library", o.nvrtc));
    for (const std::string& list : o.lists) {
      Result<std::vector<Recipe>> some = read_kernel_list(list, folders, *compiler);
      if (!some) return tl::unexpected(some.error());
      std::move(some->begin(), some->end(), std::back_inserter(recipes));
    }
    std::erase_if(recipes,
                  [&](const Recipe& r) { return !o.only.empty() && o.only != r.kernel.name + "@" + r.target.str(); });
    if (!o.only.empty() && recipes.empty())
      return fail(Code::kInvalidArgument, fmt::format("--only {}: the list has no such NAME@TARGET", o.only));
  }
  const Result<int> compiled = compile_missing(recipes, {.nvrtc = o.nvrtc, .folders = folders, .jobs = o.jobs}, cache,
                                               [](const std::string&, int, int) {});
  if (!compiled) return tl::unexpected(compiled.error());
  std::vector<BlobEntry> entries;
  std::vector<std::vector<std::byte>> images;
  for (const Recipe& r : recipes) {
    Result<CachedImage> image = image_of(r, cache);
    if (!image) return tl::unexpected(image.error());
    const Resources& used = image->resources;
    fmt::print("{}: {}, entry {}\n", name_of(r),
               r.ptx() ? "PTX" : fmt::format("{} registers, {} B spilled or local", used.registers, used.local_bytes()),
               image->entry);
    if (!o.only.empty()) return write_output(o.output, image->bytes);
    entries.push_back({.kernel = r.kernel.name,
                       .target = r.target,
                       .registers = used.registers,
                       .local_bytes = used.local_bytes(),
                       .entry = image->entry});
    images.push_back(std::move(image->bytes));
  }
  return write_output(o.output, pack_blob(std::move(entries), images));
}

int run(int argc, char** argv) {
  Options o;
  CLI::App app("Compiles the kernels of a list, each for its targets.");
  app.add_option("--nvrtc", o.nvrtc, "libnvrtc.so.12 or later; without one the output holds no images");
  app.add_option("--list", o.lists, "files of lines NAME | HEADER | KERNEL | TARGET, TARGET ...")->required();
  app.add_option("--cache", o.cache, "folder of compiled images, by content")->required();
  app.add_option("--source", o.source, "flashfit's src folder")->required();
  app.add_option("--include", o.include, "folders of the list's headers");
  app.add_option("--output", o.output, "the blob, or with --only the cubin or PTX, to write")->required();
  app.add_option("--only", o.only, "NAME@TARGET: this image alone, as a file that the driver loads");
  app.add_option("--jobs", o.jobs, "compiler processes")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const Result<void> done = build(o); !done) {
    fmt::print(stderr, "flashfit_kernel_images: {}\n", done.error().message);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace flashfit

int main(int argc, char** argv) {
  try {
    return flashfit::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flashfit_kernel_images: %s\n", error.what());
    return 1;
  }
}
