// flashfit explain: what would run on a GPU and why; --tile and --sweep: what could.
#include "kernels/attention/forward/plan/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "cli/command.hpp"
#include "cli/explain_route.hpp"
#include "cli/options.hpp"
#include "cli/problem_options.hpp"
#include "cli/table.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;

/// write_explanation()'s object.
template <class... Arguments>
Json explained(const Arguments&... arguments) {
  JsonText json;
  write_explanation(json, arguments...);
  return Json::parse(json.take().value());
}

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

std::string text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.1f}", value.get<double>());
  return value.dump();
}

std::string registers(const Json& j) {
  return text(j["registers_per_thread"]) + (j["registers_estimated"] == true ? "~" : "");
}

/// ~ marks a guess, as of registers.
std::string modelled(const Json& j) { return text(j["modelled_us"]) + (j["calibrated"] == false ? "~" : ""); }

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
  return row_or_self(c);
}

void print_json(const std::vector<Json>& objects) { fmt::print("{}\n", Json(objects).dump(2)); }

int status_of(const std::vector<Json>& objects, bool survey) {
  std::size_t fit = 0;
  for (const Json& j : objects) fit += j["fits"] == true;
  return fit == objects.size() || (survey && fit > 0) ? kOk : kDoesNotFit;
}

/// One GPU in full.
void print_one(const Json& j) {
  const auto line = [](const char* key, const std::string& value) { fmt::print("{:<9} {}\n", key, value); };
  line("gpu", fmt::format("{} ({})", text(j["gpu"]), text(j["compute_capability"])));
  if (j["fits"] == false) return line("misfit", text(j["reason"]));
  line("variant", fmt::format("{} for {}", text(j["variant"]), text(j["target"])));
  line("block", fmt::format("{} threads, {} registers a thread{}, {} of {} B shared memory", text(j["threads"]),
                            text(j["registers_per_thread"]), j["registers_estimated"] == true ? " (estimated)" : "",
                            text(j["shared_memory_bytes"]), text(j["shared_memory_limit_bytes"])));
  line("grid", fmt::format("{} blocks, {} per SM", text(j["grid"]), text(j["blocks_per_sm"])));
  line("model",
       fmt::format("{} us{}, most in {}", text(j["modelled_us"]),
                   j["calibrated"] == false ? " (a guess: the model was fitted to an H200)" : "", text(j["bound"])));
  line("why", text(j["reason"]));
}

void print_table(const std::vector<Json>& objects) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& j : objects) {
    const bool fits = j["fits"] == true;
    rows.push_back({text(j["gpu"]), text(j["compute_capability"]), fits ? text(j["variant"]) : "does not fit",
                    text(j["target"]), text(j["shared_memory_bytes"]), text(j["shared_memory_limit_bytes"]),
                    registers(j), text(j["blocks_per_sm"]), text(j["grid"]), modelled(j),
                    fits ? text(j["bound"]) : text(j["reason"])});
  }
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
  std::vector<Json> objects;
  for (const Gpu& gpu : gpus)
    objects.push_back(explained(problem, gpu, driver, carried_images(), PlanOptions{.variant = e.variant}));
  if (e.json) {
    print_json(objects);
  } else {
    fmt::print("{:<9} {}\n", "problem", describe(problem));
    objects.size() == 1 ? print_one(objects.front()) : print_table(objects);
  }
  return status_of(objects, e.gpu.all());
}

int run_what_if(const Explain& e, const ForwardProblem& problem, const std::vector<Gpu>& gpus) {
  const ForwardConfig config = parse_tile(e, problem);
  std::vector<Json> objects;
  for (const Gpu& gpu : gpus) objects.push_back(explained(what_if(config, problem, gpu, carried_images()), gpu));
  if (e.json) {
    print_json(objects);
    return status_of(objects, e.gpu.all());
  }
  const Json& first = objects.front();
  fmt::print("{:<9} {}\n", "problem", describe(problem));
  fmt::print("{:<9} {}x{}, {} warps, {} stages: {} threads, {} registers a thread{}, {} B (0x{:x}) shared memory{}\n",
             "tile", config.block_m, config.block_n, config.warps, config.stages, text(first["threads"]),
             text(first["registers_per_thread"]), first["registers_estimated"] == true ? " (estimated)" : "",
             text(first["shared_memory_bytes"]), first["shared_memory_bytes"].get<int>(),
             first["variant"].is_null() ? "; not a row of the table" : "; row " + text(first["variant"]));
  std::vector<std::vector<std::string>> rows;
  for (const Json& j : objects)
    rows.push_back({text(j["gpu"]), text(j["compute_capability"]), j["fits"] == true ? "fits" : "does not fit",
                    text(j["shared_memory_limit_bytes"]), text(j["blocks_per_sm"]), modelled(j), text(j["reason"])});
  fmt::print(
      "{}",
      table({{"gpu"}, {"cc"}, {""}, {"limit B", true}, {"blocks/SM", true}, {"model us", true}, {"what binds"}}, rows));

  std::vector<std::string> yes, no;
  for (const Gpu& gpu : gpu_table())
    (what_if(config, problem, gpu, carried_images()).fits ? yes : no).push_back(gpu.name);
  if (!yes.empty()) fmt::print("{:<9} {}\n", "fits", fmt::join(yes, ", "));
  if (!no.empty()) fmt::print("{:<9} {}\n", "not", fmt::join(no, ", "));
  return status_of(objects, e.gpu.all());
}

int run_sweep(const Explain& e, const ForwardProblem& problem, const std::vector<Gpu>& gpus) {
  std::vector<Json> objects;
  if (!e.json) fmt::print("{:<9} {}\n", "problem", describe(problem));
  for (const Gpu& gpu : gpus) {
    std::vector<std::vector<std::string>> rows;
    for (const Fit& fit : sweep(problem, gpu, carried_images())) {
      const Json j = explained(fit, gpu);
      objects.push_back(j);
      rows.push_back({fmt::format("{}x{}", fit.config.block_m, fit.config.block_n), text(j["warps"]), text(j["stages"]),
                      text(j["shared_memory_bytes"]), registers(j), text(j["spill_bytes"]), text(j["blocks_per_sm"]),
                      fit.model.limited_by, modelled(j), text(j["bound"]),
                      j["variant"].is_null() ? "" : text(j["variant"])});
    }
    if (e.json) continue;
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
  if (e.json) print_json(objects);
  return objects.empty() ? kDoesNotFit : kOk;
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
      command->add_option("--variant", e->variant, "force this row of `flashfit images`")->type_name("NAME");
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
  command->callback([e, command, &status] {
    if (command->get_subcommands().empty()) status = run(*e);
  });
}

}  // namespace flashfit::cli
