// flashfit explain: what would run on a GPU and why; --tile and --sweep: what could.
#include "kernels/attention/forward/plan/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "cli/command.hpp"
#include "cli/explain_experts.hpp"
#include "cli/explain_route.hpp"
#include "cli/indented.hpp"
#include "cli/options.hpp"
#include "cli/problem_options.hpp"
#include "cli/table.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::cli {
namespace {

constexpr char kExample[] = R"(
Examples:
  flashfit explain --gpu L4 --head-dim 64 --seqlen 512 --heads 8 --batch 2
  flashfit explain --gpu all --dtype bf16 --head-dim 128 --driver 535
  flashfit explain --gpu L4 --head-dim 192 --head-dim-v 128 --causal --window-left 1023 --softcap 30
  flashfit explain --gpu L4 --head-dim 128 --tile 128x128 --stages 2 --warps 4
  flashfit explain --gpu H100 --head-dim 128 --sweep
Exit status: 0 it fits, 1 it does not (a named GPU, or every one of all), 2 wrong use, 3 not written.)";

struct Explain {
  ProblemOptions problem;
  GpuOptions gpu;
  std::string tile, variant;
  std::int64_t stages = 0, warps = 0;
  bool sweep = false, json = false, unaligned = false;
};

template <class T>
std::string text(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

/// ~ marks a guess.
std::string registers(const Explanation& e) {
  return text(e.registers_per_thread) + (e.registers_estimated.value_or(false) ? "~" : "");
}

std::string microseconds(const Explanation& e) { return e.model ? fmt::format("{:.1f}", *e.modelled_us()) : "-"; }

/// ~ marks a guess, as of registers.
std::string modelled(const Explanation& e) { return microseconds(e) + (e.calibrated().value_or(true) ? "" : "~"); }

ForwardConfig parse_tile(const Explain& e, const ForwardProblem& problem) {
  const std::string_view tile = e.tile;
  std::optional<std::int64_t> rows, keys;
  if (const auto x = tile.find('x'); x != std::string_view::npos) {
    rows = whole_number(tile.substr(0, x), 16, 4096);
    keys = whole_number(tile.substr(x + 1), 16, 4096);
  }
  if (!rows || !keys) wrong("--tile", e.tile, "must be ROWSxKEYS, each from 16 to 4096, for example 128x64");
  ForwardConfig c = tile_config(problem.dtype, problem.head_dim, static_cast<int>(*rows), static_cast<int>(*keys),
                                static_cast<int>(e.warps ? e.warps : 4), static_cast<int>(e.stages ? e.stages : 2));
  c.head_dim_v = problem.head_dim_v;
  return variant_or_self(c);
}

void print_json(const std::vector<Explanation>& all) {
  JsonText json;
  json.begin_array();
  for (const Explanation& e : all) write_explanation(json, e);
  json.end_array();
  fmt::print("{}\n", indented(json.take().value()));
}

int status_of(const std::vector<Explanation>& all, bool survey) {
  const auto fit = std::ranges::count(all, true, &Explanation::fits);
  return fit == std::ssize(all) || (survey && fit > 0) ? kOk : kDoesNotFit;
}

/// One GPU in full.
void print_one(const Explanation& e) {
  const auto line = [](const char* key, const std::string& value) { fmt::print("{:<9} {}\n", key, value); };
  line("gpu", describe(e.gpu));
  if (!e.fits) return line("misfit", e.reason);
  line("variant", fmt::format("{} for {}", text(e.variant), text(e.target)));
  line("block", fmt::format("{} threads, {} registers a thread{}, {} of {} B shared memory", text(e.threads),
                            text(e.registers_per_thread), *e.registers_estimated ? " (estimated)" : "",
                            text(e.shared_memory_bytes), e.gpu.shared_bytes_block));
  line("grid", fmt::format("{} blocks, {} per SM", text(e.grid), text(e.blocks_per_sm())));
  line("model", fmt::format("{} us{}, most in {}", microseconds(e),
                            *e.calibrated() ? "" : " (a guess: the model was fitted to an H200)", text(e.bound())));
  line("why", e.reason);
}

void print_table(const std::vector<Explanation>& all) {
  std::vector<std::vector<std::string>> rows;
  for (const Explanation& e : all)
    rows.push_back({e.gpu.name, e.gpu.cc.str(), e.fits ? text(e.variant) : "does not fit", text(e.target),
                    text(e.shared_memory_bytes), std::to_string(e.gpu.shared_bytes_block), registers(e),
                    text(e.blocks_per_sm()), text(e.grid), modelled(e), e.fits ? text(e.bound()) : e.reason});
  fmt::print("{}", table({{"gpu"},
                          {"cc"},
                          {"variant"},
                          {"image"},
                          {"shared B", true},
                          {"limit B", true},
                          {"regs", true},
                          {"blocks/SM", true},
                          {"grid", true},
                          {"model us", true},
                          {"bound or reason"}},
                         rows));
}

int run_plan(const Explain& e, const ForwardProblem& problem, const std::vector<Gpu>& gpus, CudaVersion driver) {
  if (!e.variant.empty())  // a name that no GPU could take is wrong use, not a misfit
    if (const auto plan = plan_forward(problem, gpus.front(), 0, carried_images(), {.variant = e.variant});
        !plan && plan.error().code == Code::kInvalidArgument)
      wrong("--" + plan.error().message);
  std::vector<Explanation> all;
  for (const Gpu& gpu : gpus)
    all.push_back(explanation(problem, gpu, driver, carried_images(), {.variant = e.variant}));
  if (e.json) {
    print_json(all);
  } else {
    fmt::print("{:<9} {}\n", "problem", describe(problem));
    all.size() == 1 ? print_one(all.front()) : print_table(all);
  }
  return status_of(all, e.gpu.all());
}

int run_what_if(const Explain& e, const ForwardProblem& problem, const std::vector<Gpu>& gpus) {
  const ForwardConfig config = parse_tile(e, problem);
  std::vector<Explanation> all;
  for (const Gpu& gpu : gpus) all.push_back(explanation(what_if(config, problem, gpu, carried_images()), gpu));
  if (e.json) {
    print_json(all);
    return status_of(all, e.gpu.all());
  }
  const Explanation& first = all.front();
  fmt::print("{:<9} {}\n", "problem", describe(problem));
  fmt::print("{:<9} {}x{}, {} warps, {} stages: {} threads, {} registers a thread{}, {} B (0x{:x}) shared memory{}\n",
             "tile", config.block_m, config.block_n, config.warps, config.stages, text(first.threads),
             text(first.registers_per_thread), *first.registers_estimated ? " (estimated)" : "",
             *first.shared_memory_bytes, *first.shared_memory_bytes,
             first.variant ? "; variant " + *first.variant : "; not a variant of the table");
  std::vector<std::vector<std::string>> rows;
  for (const Explanation& x : all)
    rows.push_back({x.gpu.name, x.gpu.cc.str(), x.fits ? "fits" : "does not fit",
                    std::to_string(x.gpu.shared_bytes_block), text(x.blocks_per_sm()), modelled(x), x.reason});
  fmt::print(
      "{}",
      table({{"gpu"}, {"cc"}, {""}, {"limit B", true}, {"blocks/SM", true}, {"model us", true}, {"what binds"}}, rows));

  std::vector<std::string> yes, no;
  for (const Gpu& gpu : gpu_table())
    (what_if(config, problem, gpu, carried_images()).fits ? yes : no).push_back(gpu.name);
  if (!yes.empty()) fmt::print("{:<9} {}\n", "fits", fmt::join(yes, ", "));
  if (!no.empty()) fmt::print("{:<9} {}\n", "not", fmt::join(no, ", "));
  return status_of(all, e.gpu.all());
}

int run_sweep(const Explain& e, const ForwardProblem& problem, const std::vector<Gpu>& gpus) {
  std::vector<Explanation> all;
  if (!e.json) fmt::print("{:<9} {}\n", "problem", describe(problem));
  for (const Gpu& gpu : gpus) {
    std::vector<std::vector<std::string>> rows;
    for (const Fit& fit : sweep(problem, gpu, carried_images())) {
      const Explanation& x = all.emplace_back(explanation(fit, gpu));
      rows.push_back({fmt::format("{}x{}", fit.config.block_m, fit.config.block_n), std::to_string(fit.config.warps),
                      std::to_string(fit.config.stages), text(x.shared_memory_bytes), registers(x), text(x.spill_bytes),
                      text(x.blocks_per_sm()), fit.model.limited_by, modelled(x), text(x.bound()),
                      x.variant.value_or("")});
    }
    if (e.json) continue;
    if (rows.empty())
      if (const Explanation none = explanation(problem, gpu, 0, carried_images(), {}); !none.fits) {
        print_one(none);
        continue;
      }
    fmt::print("{:<9} {} ({}): {} configurations fit, {} B shared memory a block\n", "gpu", gpu.name, gpu.cc.str(),
               rows.size(), gpu.shared_bytes_block);
    fmt::print("{}", table({{"tile"},
                            {"warps", true},
                            {"stages", true},
                            {"shared B", true},
                            {"regs", true},
                            {"spill B", true},
                            {"blocks/SM", true},
                            {"limited by"},
                            {"model us", true},
                            {"bound"},
                            {"row"}},
                           rows));
  }
  if (e.json) print_json(all);
  return all.empty() ? kDoesNotFit : kOk;
}

int run(const Explain& e) {
  if (e.tile.empty() && (e.stages || e.warps))
    wrong(e.stages ? "--stages" : "--warps", std::to_string(e.stages ? e.stages : e.warps), "needs --tile ROWSxKEYS");
  ForwardProblem problem = e.problem.problem();
  problem.unaligned = e.unaligned;
  CudaVersion driver = 0;
  const std::vector<Gpu> gpus = e.gpu.gpus(driver);
  if (!e.tile.empty()) return run_what_if(e, problem, gpus);
  if (e.sweep) return run_sweep(e, problem, gpus);
  return run_plan(e, problem, gpus, driver);
}

}  // namespace

void add_explain(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "explain", "What flashfit would run on a GPU and why; what a tile would need. No GPU is needed.");
  const auto e = std::make_shared<Explain>();
  e->gpu.add_to(*command);
  e->problem.add_to(*command);
  command->add_flag("--unaligned", e->unaligned, "rows that do not begin on 16 bytes");
  CLI::Option* variant =
      command->add_option("--variant", e->variant, "force this variant of `flashfit images`")->type_name("NAME");
  CLI::Option* tile = command->add_option("--tile", e->tile, "what if: a tile of ROWSxKEYS, carried or not")
                          ->type_name("ROWSxKEYS")
                          ->excludes(variant);
  add_whole_number(*command, "--stages", e->stages, 1, 16,
                   "what if: slots of the ring of key and value tiles (default 2)");
  add_whole_number(*command, "--warps", e->warps, 1, 64, "what if: warps of a block (default 4)");
  command->add_flag("--sweep", e->sweep, "every tile that fits, fastest modelled first")
      ->excludes(tile)
      ->excludes(variant);
  command->add_flag("--json", e->json, "a list of objects, one a GPU (--sweep: one a tile)");
  command->footer(kExample);
  add_explain_route(*command, status);
  add_explain_experts(*command, status);
  command->callback([e, command, &status] {
    if (command->get_subcommands().empty()) status = run(*e);
  });
}

}  // namespace flashfit::cli
