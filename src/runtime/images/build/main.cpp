// flashfit_build_images: compiles every variant and target of the catalogue that is
// asked for, and packs the results into one blob.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <sstream>

#include "runtime/images/blob.hpp"
#include "runtime/images/build/cache.hpp"
#include "runtime/images/build/catalogue_recipes.hpp"
#include "runtime/images/build/closure.hpp"
#include "runtime/images/build/compile.hpp"
#include "runtime/images/build/resources.hpp"
#include "runtime/images/build/served_units.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit {
namespace {

struct Options {
  std::string nvrtc, targets = "all", cache, source, output, note;
  int jobs = 2;
};

/// All targets of the catalogue, or those of a list like "9.0,8.9"; "none" for a library without images.
Result<std::vector<int>> parse_targets(const std::string& text) {
  std::vector<int> known;
  for (const KernelVariant& variant : catalogue())
    for (const Target& t : variant.targets)
      if (std::find(known.begin(), known.end(), t.cc) == known.end()) known.push_back(t.cc);
  std::sort(known.begin(), known.end());
  if (text == "all") return known;
  std::vector<int> chosen;
  if (text == "none") return chosen;
  std::stringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    const auto found = std::find_if(known.begin(), known.end(), [&](int cc) { return Target{.cc = cc}.str() == item; });
    if (found == known.end()) {
      std::string names;
      for (int cc : known) names += (names.empty() ? "" : ", ") + Target{.cc = cc}.str();
      return fail(Code::kInvalidArgument,
                  fmt::format("--targets {}: \"{}\" is not one of {}, all, none", text, item, names));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

Result<void> build(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const Result<std::vector<int>> targets = parse_targets(options.targets);
  if (!targets) return tl::unexpected(targets.error());
  std::vector<Recipe> recipes;
  if (!targets->empty()) {
    const Result<std::string> compiler = fingerprint(options.nvrtc);
    if (!compiler)
      return fail(Code::kInvalidArgument,
                  fmt::format("--nvrtc {}: no such library (./dev build sets it up)", options.nvrtc));
    Result<std::vector<Recipe>> made = catalogue_recipes(*targets, options.source, *compiler);
    if (!made) return tl::unexpected(made.error());
    recipes = std::move(*made);
  }

  const ImageCache cache(options.cache);
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const Result<int> compiled =
      compile_missing(recipes,
                      {.nvrtc = options.nvrtc,
                       .folders = {options.source + "/kernels/arch/cuda", options.source},
                       .jobs = options.jobs,
                       .probed = [](const std::string& line) { fmt::print(stderr, "images: {}\n", line); }},
                      cache, [&](const std::string& name, int done, int of) {
                        if (terminal)
                          fmt::print(stderr, "\r\x1b[Kimages: {}/{} {}", done, of, name);
                        else if (done % 20 == 0)
                          fmt::print(stderr, "images: {}/{}\n", done, of);
                      });
  if (terminal) fmt::print(stderr, "\r\x1b[K");
  if (!compiled) return tl::unexpected(compiled.error());

  std::vector<BlobEntry> entries;
  std::vector<std::vector<std::byte>> images;
  std::size_t plain = 0;
  for (const Recipe& r : recipes) {
    Result<CachedImage> image = image_of(r, cache);
    if (!image) return tl::unexpected(image.error());
    // Here and not where it is compiled: an image from the cache is held to the table as it is now.
    if (Result<void> ok = check_resources(r, image->resources); !ok) return ok;
    entries.push_back({.kernel = r.kernel.name,
                       .target = r.target,
                       .registers = image->resources.registers,
                       .local_bytes = image->resources.local_bytes(),
                       .shared_bytes = r.kernel.limits->shared_bytes,
                       .entry = image->entry});
    plain += image->bytes.size();
    images.push_back(std::move(image->bytes));
  }
  // The toolkit whose NVRTC is pinned: driver_compiles_ptx() and driver_loads_sass() hold the plan to the same.
  const std::vector<std::byte> note = make_image_note(served_units(recipes), "12.9", "8.8");
  if (const Result<void> written = write_output(options.note, note); !written) return written;
  const std::vector<std::byte> blob = pack_blob(std::move(entries), images);
  if (const Result<void> written = write_output(options.output, blob); !written) return written;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(stderr, "images: {} carried, {} compiled now, {} KB packed to {} KB, {:.1f} s\n", recipes.size(),
             *compiled, plain / 1024, blob.size() / 1024, seconds);
  return {};
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Compiles the kernel images that flashfit carries and packs them into one blob.");
  app.add_option("--nvrtc", options.nvrtc, "libnvrtc.so.12 or later (not needed for --targets none)");
  app.add_option("--targets", options.targets, "all, none, or a list such as 8.9,9.0")->capture_default_str();
  app.add_option("--cache", options.cache, "folder of compiled images, by content")->required();
  app.add_option("--source", options.source, "flashfit's src folder")->required();
  app.add_option("--output", options.output, "the blob to write")->required();
  app.add_option("--note", options.note, "the index for other readers to write")->required();
  app.add_option("--jobs", options.jobs, "compiler processes")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const Result<void> done = build(options); !done) {
    fmt::print(stderr, "flashfit_build_images: {}\n", done.error().message);
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
    std::fprintf(stderr, "flashfit_build_images: %s\n", error.what());
    return 1;
  }
}
