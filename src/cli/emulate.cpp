// flashfit emulate: the plan's choice for a GPU, run on the CPU under the emulator, on random data, against fp64; or
// any PTX (emulate_ptx.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "cli/command.hpp"
#include "cli/emulate_experts.hpp"
#include "cli/emulate_images.hpp"
#include "cli/emulate_options.hpp"
#include "cli/emulate_ptx.hpp"
#include "cli/emulate_report.hpp"
#include "cli/emulate_route.hpp"
#include "cli/options.hpp"
#include "cli/ticker.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "proof/emulated/forward.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr char kExample[] = R"(
Examples:
  flashfit emulate --gpu L4 --head-dim 128 --seqlen 300 --causal --schedule random --seed 7
  flashfit emulate --gpu T4 --seqlens 65,0,300 --heads 8 --kv-heads 2 --repeat 20
  flashfit emulate --gpu H100 --head-dim 64 --layout mixed --numerics tensor-core --json
  flashfit emulate --gpu A100 --causal --window-left 63 --softcap 30 --sinks --seqused-k 100
  flashfit emulate --ptx add.ptx --grid 4 --block 256 --arg in:fp32[1000] --arg in:fp32[1000] --arg sum=out:fp32[1000] \
                   --arg 1000 --repeat 20 --save sum=sum.npy
No GPU is needed. Exit status: 0 all is well, 1 a finding or wrong numbers, 2 wrong use, 3 not written.)";

const emulated::EmulatedKernel& kernel_of(const KernelVariant& variant) {
  return *std::ranges::find(emulated::emulated_forwards(), variant.name, [](const auto& k) { return k.variant.name; });
}

ForwardNumbers emulate(Run& run, const reference::ForwardData& fresh, const reference::Expected& expected) {
  reference::ForwardData data = make_data(fresh.spec);
  const auto start = Clock::now();
  const Result<emu::Stats> ran = emulated::run(kernel_of(run.kernel_variant()), data, run.options);
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  ForwardNumbers n{
      .flop = forward_flop(data.spec), .out_bound = expected.out_bound, .lse_bound = expected.lse_bound, .verdict = {}};
  if (!ran) {
    run.finding = ran.error().message;
    return n;
  }
  run.ended = true;
  run.stats = *ran;
  n.verdict = check(data, expected);
  if (!n.verdict.ok)
    run.finding = fmt::format("{} ({}, seed {}): wrong numbers: {}", run.kernel_variant().name,
                              name_of(run.options.schedule), run.options.seed, n.verdict.message);
  return n;
}

/// The GPU's plan; nothing, said in a line, for one of `all` that fits no variant.
Result<ForwardPlan> plan_for(const EmulateOptions& e, const ForwardProblem& problem, const Gpu& gpu, CudaVersion driver,
                             const std::vector<Image>& images) {
  Result<ForwardPlan> plan = plan_forward(problem, gpu, driver, images, {.variant = e.variant});
  if (plan || (e.gpu.all() && plan.error().code == Code::kMisfit)) return plan;
  if (plan.error().code == Code::kInvalidArgument) wrong("--" + plan.error().message);
  wrong("--gpu", gpu.name, plan.error().message);
}

int run(const EmulateOptions& e) {
  const reference::ForwardCase spec = e.data_case();
  CudaVersion driver = 0;
  const std::vector<Gpu> gpus = e.gpu.gpus(driver);
  e.runs(gpus.front());  // wrong words are said before anything long begins
  const std::vector<Image> images = images_to_emulate(kForwardOperation);
  const reference::ForwardData data = make_data(spec);
  const ForwardProblem problem = data.problem();
  std::vector<std::pair<const Gpu*, ForwardPlan>> plans;
  for (const Gpu& gpu : gpus) {
    const Result<ForwardPlan> plan = plan_for(e, problem, gpu, driver, images);
    if (plan)
      plans.emplace_back(&gpu, *plan);
    else if (!e.how.json)
      fmt::print("{:<9} {}: {}\n", "misfit", gpu.name, plan.error().message);
  }
  if (plans.empty()) wrong("--gpu", "all", "no GPU of the table fits this problem");

  const reference::Expected expected = [&] {
    const Ticker ticker("the fp64 reference");
    return expect(data);
  }();
  if (!e.how.json) print_line("problem", describe(problem) + (spec.variable_length ? ", variable length (means)" : ""));
  std::vector<Json> objects;
  std::int64_t wrong_runs = 0, all = 0;
  for (const auto& [gpu, plan] : plans) {
    const std::vector<emu::Options> runs = e.runs(*gpu);
    for (const emu::Options& options : runs) {
      Run r{.gpu = *gpu, .image = plan.image(), .blocks = plan.grid(), .options = options};
      ForwardNumbers numbers;
      {
        const Ticker ticker(fmt::format("run {} of {}, {} on {}", all + 1, plans.size() * runs.size(),
                                        r.kernel_variant().name, gpu->name));
        numbers = emulate(r, data, expected);
      }
      ++all;
      wrong_runs += !r.finding.empty();
      if (e.how.json)
        objects.push_back(json_of(r, numbers));
      else
        print(r, numbers, &options == &runs.front());
    }
  }
  if (e.how.json)
    fmt::print("{}\n", Json(objects).dump(2));
  else if (all > 1)
    print_line("runs", fmt::format("{}, {} with a finding", all, wrong_runs));
  return wrong_runs == 0 ? kOk : kFinding;
}

}  // namespace

void add_emulate(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "emulate",
      "Runs the kernel that a GPU would get, or any PTX, on the CPU, and says what it did and what is wrong with it.");
  const auto e = std::make_shared<EmulateOptions>();
  const auto ptx = std::make_shared<PtxOptions>();
  e->add_to(*command);
  ptx->add_to(*command);
  command->footer(kExample);
  add_emulate_route(*command, status);
  add_emulate_experts(*command, status);
  command->callback([command, e, ptx, &status] {
    if (!command->get_subcommands().empty()) return;
    check_options(*command, !ptx->file.empty());
    status = ptx->file.empty() ? run(*e) : run_ptx(*ptx, *e);
  });
}

}  // namespace flashfit::cli
