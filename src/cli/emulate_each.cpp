#include "cli/emulate_each.hpp"

#include <fmt/format.h>

#include <chrono>
#include <vector>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/ticker.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

void emulate_one(Run& run, const Emulation& emulate) {
  std::string defect;
  const auto start = Clock::now();
  const Result<emu::Stats> ran = emulate(run.image, run.options, defect);
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!ran) {
    run.finding = ran.error().message;
    return;
  }
  run.ended = true;
  run.stats = *ran;
  if (!defect.empty())
    run.finding = fmt::format("{} ({}, seed {}): wrong numbers: {}", run.kernel_variant().name,
                              name_of(run.options.schedule), run.options.seed, defect);
}

}  // namespace

void EmulateEachOptions::add_rest_to(CLI::App& app) {
  app.add_option("--variant", variant, "force this variant of `flashfit images`")->type_name("NAME");
  how.add_to(app);
}

int emulate_each(const EmulateEachOptions& options, const std::string& problem,
                 const std::function<Result<Chosen>(const Gpu&, CudaVersion)>& plan, const Emulation& emulate) {
  CudaVersion driver = 0;
  const std::vector<Gpu> gpus = options.gpu.gpus(driver);
  options.how.runs(0);  // wrong words are said before anything else is
  std::vector<Json> objects;
  std::int64_t wrong_runs = 0, all = 0;
  bool begun = false;
  for (const Gpu& gpu : gpus) {
    const Result<Chosen> chosen = plan(gpu, driver);
    if (!chosen) {
      if (chosen.error().code == Code::kInvalidArgument) wrong("--" + chosen.error().message);
      if (!options.gpu.all()) wrong("--gpu", gpu.name, chosen.error().message);
    }
    if (!begun && !options.how.json) print_line("problem", problem);
    begun = true;
    if (!chosen) {
      if (!options.how.json) print_line("misfit", fmt::format("{}: {}", gpu.name, chosen.error().message));
      continue;
    }
    const std::vector<emu::Options> runs = options.how.runs(static_cast<std::size_t>(gpu.shared_bytes_block));
    for (const emu::Options& each : runs) {
      Run r{.gpu = gpu, .image = *chosen->image, .blocks = chosen->blocks, .options = each};
      {
        const Ticker ticker(fmt::format("run {}, {} on {}", all + 1, r.kernel_variant().name, gpu.name));
        emulate_one(r, emulate);
      }
      ++all;
      wrong_runs += !r.finding.empty();
      if (options.how.json)
        objects.push_back(json_of(r));
      else
        print(r, &each == &runs.front());
    }
  }
  if (all == 0) wrong("--gpu", "all", "no GPU of the table fits this problem");
  if (options.how.json)
    fmt::print("{}\n", Json(objects).dump(2));
  else if (all > 1)
    print_line("runs", fmt::format("{}, {} with a finding", all, wrong_runs));
  return wrong_runs == 0 ? kOk : kFinding;
}

}  // namespace flashfit::cli
