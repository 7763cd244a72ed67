// flashfit emulate moe.route: the router's kernel that a GPU would get, on the CPU under the emulator, against fp64.
#include "cli/emulate_route.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/emulate_images.hpp"
#include "cli/emulate_report.hpp"
#include "cli/emulator_options.hpp"
#include "cli/options.hpp"
#include "cli/pick.hpp"
#include "cli/problem_options.hpp"
#include "cli/route_options.hpp"
#include "cli/ticker.hpp"
#include "kernels/moe/route/plan.hpp"
#include "proof/emulated/route.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
using reference::Logits;

constexpr char kExample[] = R"(
Examples:
  flashfit emulate moe.route --gpu L4 --experts 128 --top-k 8 --tokens 200
  flashfit emulate moe.route --gpu H100 --experts 8 --dtype bf16 --logits ties --repeat 20 --json
No GPU is needed. Exit status: 0 all is well, 1 a finding or wrong numbers, 2 wrong use, 3 not written.)";

struct NamedLogits {
  const char* name;
  Logits logits;
};
constexpr NamedLogits kLogits[] = {{"normal", Logits::kNormal},     {"ties", Logits::kTies},
                                   {"equal", Logits::kEqual},       {"shifted", Logits::kShifted},
                                   {"steep", Logits::kSteep},       {"nan", Logits::kNan},
                                   {"infinite", Logits::kInfinite}, {"hidden", Logits::kHidden}};

constexpr std::int64_t kMostLogits = 100'000'000;  // some minutes

struct EmulateRoute {
  GpuOptions gpu;
  RouteOptions problem{.tokens = 100};
  EmulatorOptions how;
  std::string logits = "normal", variant;

  reference::RouteCase data_case() const {
    const RouteProblem p = problem.problem();
    if (p.tokens * p.experts > kMostLogits)
      wrong("--tokens", std::to_string(p.tokens),
            fmt::format("must be at most {} with --experts {}: the emulator takes {} logits", kMostLogits / p.experts,
                        p.experts, kMostLogits));
    return {.name = "the result", .problem = p, .logits = pick(kLogits, "--logits", logits).logits};
  }
};

void emulate(Run& run, const reference::RouteCase& spec) {
  const auto& all = emulated::emulated_routes();
  const auto kernel = std::ranges::find(all, run.row().name, [](const auto& k) { return k.row.name; });
  reference::RouteData data = reference::make_data(spec);
  const auto start = Clock::now();
  const Result<emu::Stats> ran = emulated::run(*kernel, data, run.options);
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!ran) {
    run.finding = ran.error().message;
    return;
  }
  run.ended = true;
  run.stats = *ran;
  if (const std::string defect = reference::defect_of(data); !defect.empty())
    run.finding = fmt::format("{} ({}, seed {}): wrong numbers: {}", run.row().name, name_of(run.options.schedule),
                              run.options.seed, defect);
}

int run(const EmulateRoute& e) {
  const reference::RouteCase spec = e.data_case();
  CudaVersion driver = 0;
  const std::vector<Gpu> gpus = e.gpu.gpus(driver);
  e.how.runs(0);  // wrong words are said before anything else is
  const std::vector<Image> images = images_to_emulate(kRouteFamily.operation);
  if (!e.how.json) print_line("problem", fmt::format("{}, {} tokens", describe(spec.problem), spec.problem.tokens));
  std::vector<Json> objects;
  std::int64_t wrong_runs = 0, all = 0;
  for (const Gpu& gpu : gpus) {
    const auto plan = plan_route(spec.problem, gpu, driver, images, {.variant = e.variant});
    if (!plan) {
      if (plan.error().code == Code::kInvalidArgument) wrong("--" + plan.error().message);
      if (!e.gpu.all()) wrong("--gpu", gpu.name, plan.error().message);
      if (!e.how.json) print_line("misfit", fmt::format("{}: {}", gpu.name, plan.error().message));
      continue;
    }
    const std::vector<emu::Options> runs = e.how.runs(static_cast<std::size_t>(gpu.shared_bytes_block));
    for (const emu::Options& options : runs) {
      Run r{.gpu = gpu, .image = plan->image(), .blocks = plan->steps[0].grid.x, .options = options};
      {
        const Ticker ticker(fmt::format("run {}, {} on {}", all + 1, r.row().name, gpu.name));
        emulate(r, spec);
      }
      ++all;
      wrong_runs += !r.finding.empty();
      if (e.how.json)
        objects.push_back(json_of(r));
      else
        print(r, &options == &runs.front());
    }
  }
  if (all == 0) wrong("--gpu", "all", "no GPU of the table fits this problem");
  if (e.how.json)
    fmt::print("{}\n", Json(objects).dump(2));
  else if (all > 1)
    print_line("runs", fmt::format("{}, {} with a finding", all, wrong_runs));
  return wrong_runs == 0 ? kOk : kFinding;
}

}  // namespace

void add_emulate_route(CLI::App& emulate, int& status) {
  CLI::App* command = emulate.add_subcommand("moe.route", "The router of a mixture of experts instead of attention");
  const auto e = std::make_shared<EmulateRoute>();
  e->gpu.add_to(*command);
  e->problem.add_to(*command);
  command
      ->add_option("--logits", e->logits,
                   "what they are: normal (default), ties, equal, shifted, steep, nan, infinite, hidden")
      ->type_name("NAME");
  command->add_option("--variant", e->variant, "force this variant of `flashfit images`")->type_name("NAME");
  e->how.add_to(*command);
  command->footer(kExample);
  command->callback([e, &status] { status = run(*e); });
}

}  // namespace flashfit::cli
