// flashfit explain moe.experts: what would compute a layer of experts on a GPU, and why.
#include "cli/explain_experts.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/experts_options.hpp"
#include "cli/explain_each.hpp"
#include "kernels/moe/experts/explain.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::cli {
namespace {

constexpr char kExample[] = R"(
Examples:
  flashfit explain moe.experts --gpu H100 --experts 128 --top-k 8 --hidden 2048 --intermediate 768 --tokens 4096
  flashfit explain moe.experts --gpu all --experts 8 --top-k 2 --hidden 4096 --intermediate 14336 --dtype fp16 --json
Exit status: 0 it fits, 1 it does not (a named GPU, or every one of all), 2 wrong use, 3 not written.)";

struct ExplainExperts {
  ExplainOptions how;
  ExpertsOptions problem;
};

/// Blocks of the two products: "264 + 792"; "-" where there are none.
std::string grids(const ExpertsPlan& plan) {
  std::string text;
  for (const Step& step : plan.steps)
    if (step.image == plan.product) text += fmt::format("{}{}", text.empty() ? "" : " + ", step.grid.x);
  return text.empty() ? "-" : text;
}

Answer answer_of(const Result<ExpertsPlan>& plan, const ExpertsProblem& problem, const Gpu& gpu) {
  const std::string reason = reason_for(plan, problem, gpu);
  if (!plan) return {false, {"does not fit", "-", "-", "-", "-", "-", "-", "-", reason}};
  const Image& product = *plan->product;
  const auto registers = registers_of(product);
  const char* const bound = binds(plan->time);
  return {true,
          {product.variant->name, product.target.str(), registers ? std::to_string(*registers) : "-",
           human_bytes(static_cast<std::size_t>(product.variant->shared_bytes)), grids(*plan),
           human_bytes(static_cast<std::size_t>(workspace_bytes(problem))), fmt::format("{:.1f} us", plan->time.all),
           bound ? bound : "-", reason}};
}

int run(const ExplainExperts& e) {
  const ExpertsProblem asked = e.problem.problem(), problem = as_called(asked);
  const auto explain = [&](JsonText& json, const Gpu& gpu, CudaVersion driver) {
    const auto plan = plan_experts(problem, gpu, driver, carried_images(), {.variant = e.how.variant});
    refuse_wrong_name(plan);
    write_explanation(json, plan, problem, gpu);
    return answer_of(plan, problem, gpu);
  };
  return explain_each(e.how, fmt::format("{}, {} tokens", describe(asked), asked.tokens),
                      {{"variant"},
                       {"image"},
                       {"regs", true},
                       {"shared", true},
                       {"grids", true},
                       {"workspace", true},
                       {"modelled", true},
                       {"bound by"},
                       {"reason"}},
                      explain);
}

}  // namespace

void add_explain_experts(CLI::App& explain, int& status) {
  CLI::App* command = explain.add_subcommand("moe.experts", "The experts of a mixture instead of attention");
  const auto e = std::make_shared<ExplainExperts>();
  e->how.add_gpu_to(*command);
  e->problem.add_to(*command);
  e->how.add_rest_to(*command);
  command->footer(kExample);
  command->callback([e, &status] { status = run(*e); });
}

}  // namespace flashfit::cli
