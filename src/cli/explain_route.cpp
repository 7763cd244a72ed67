// flashfit explain moe.route: what would route a mixture of experts on a GPU, and why.
#include "cli/explain_route.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/explain_each.hpp"
#include "cli/route_options.hpp"
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
  ExplainOptions how;
  RouteOptions problem;
};

int run(const ExplainRoute& e) {
  const RouteProblem problem = e.problem.problem();
  const auto explain = [&](JsonText& json, const Gpu& gpu, CudaVersion driver) -> Answer {
    const auto plan = plan_route(problem, gpu, driver, carried_images(), {.variant = e.how.variant});
    refuse_wrong_name(plan);
    write_explanation(json, plan, problem, gpu);
    const auto registers = plan ? registers_of(*plan) : std::nullopt;
    return {plan.has_value(),
            {plan ? plan->kernel_variant().name : "does not fit", plan ? plan->image().target.str() : "-",
             registers ? std::to_string(*registers) : "-", plan ? std::to_string(plan->steps[0].grid.x) : "-",
             reason_for(plan, problem, gpu)}};
  };
  return explain_each(e.how, fmt::format("{}, {} tokens", describe(problem), problem.tokens),
                      {{"variant"}, {"image"}, {"regs", true}, {"grid", true}, {"reason"}}, explain);
}

}  // namespace

void add_explain_route(CLI::App& explain, int& status) {
  CLI::App* command = explain.add_subcommand("moe.route", "The router of a mixture of experts instead of attention");
  const auto e = std::make_shared<ExplainRoute>();
  e->how.add_gpu_to(*command);
  e->problem.add_to(*command);
  e->how.add_rest_to(*command);
  command->footer(kExample);
  command->callback([e, &status] { status = run(*e); });
}

}  // namespace flashfit::cli
