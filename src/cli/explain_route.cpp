// flashfit explain moe.route: what would route a mixture of experts on a GPU, and why.
#include "cli/explain_route.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/indented.hpp"
#include "cli/options.hpp"
#include "cli/problem_options.hpp"
#include "cli/route_options.hpp"
#include "cli/table.hpp"
#include "kernels/moe/route/plan.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::cli {
namespace {

constexpr char kExample[] = R"(
Examples:
  flashfit explain moe.route --gpu L4 --experts 128 --top-k 8 --tokens 4096
  flashfit explain moe.route --gpu all --experts 8 --top-k 2 --dtype bf16 --json
Exit status: 0 it fits, 1 it does not (a named GPU, or every one of all), 2 wrong use, 3 not written.)";

struct ExplainRoute {
  GpuOptions gpu;
  RouteOptions problem;
  std::string variant;
  bool json = false;
};

int run(const ExplainRoute& e) {
  const RouteProblem problem = e.problem.problem();
  CudaVersion driver = 0;
  const std::vector<Gpu> gpus = e.gpu.gpus(driver);
  JsonText json;
  json.begin_array();
  std::vector<std::vector<std::string>> rows;
  std::size_t fit = 0;
  for (const Gpu& gpu : gpus) {
    const auto plan = plan_route(problem, gpu, driver, carried_images(), {.variant = e.variant});
    // A name that no GPU could take is wrong use, not a misfit.
    if (!plan && plan.error().code == Code::kInvalidArgument) wrong("--" + plan.error().message);
    write_explanation(json, plan, problem, gpu);
    const auto registers = plan ? registers_of(*plan) : std::nullopt;
    rows.push_back({gpu.name, gpu.cc.str(), plan ? plan->row().name : "does not fit",
                    plan ? plan->image().target.str() : "-", registers ? std::to_string(*registers) : "-",
                    plan ? std::to_string(plan->steps[0].grid.x) : "-", reason_for(plan, problem, gpu)});
    fit += plan.has_value();
  }
  json.end_array();
  if (e.json) {
    fmt::print("{}\n", indented(json.take().value()));
  } else {
    fmt::print("{:<9} {}, {} tokens\n", "problem", describe(problem), problem.tokens);
    fmt::print("{}",
               table({{"gpu"}, {"cc"}, {"variant"}, {"image"}, {"regs", true}, {"grid", true}, {"reason"}}, rows));
  }
  return fit == gpus.size() || (e.gpu.all() && fit > 0) ? kOk : kDoesNotFit;
}

}  // namespace

void add_explain_route(CLI::App& explain, int& status) {
  CLI::App* command = explain.add_subcommand("moe.route", "The router of a mixture of experts instead of attention");
  const auto e = std::make_shared<ExplainRoute>();
  e->gpu.add_to(*command);
  e->problem.add_to(*command);
  command->add_option("--variant", e->variant, "force this variant of `flashfit images`")->type_name("NAME");
  command->add_flag("--json", e->json, "a list of objects, one a GPU");
  command->footer(kExample);
  command->callback([e, &status] { status = run(*e); });
}

}  // namespace flashfit::cli
