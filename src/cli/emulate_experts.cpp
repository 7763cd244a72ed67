// flashfit emulate moe.experts: the kernels that a GPU would get for a layer of experts, on the CPU under the emulator,
// against fp64.
#include "cli/emulate_experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/emulate_each.hpp"
#include "cli/emulate_images.hpp"
#include "cli/experts_options.hpp"
#include "cli/options.hpp"
#include "cli/pick.hpp"
#include "kernels/moe/experts/plan.hpp"
#include "proof/emulated/experts.hpp"

namespace flashfit::cli {
namespace {

using reference::Choices;
using reference::ExpertInputs;

constexpr char kExample[] = R"(
Examples:
  flashfit emulate moe.experts --gpu L4 --experts 8 --top-k 2 --hidden 128 --intermediate 96 --tokens 40
  flashfit emulate moe.experts --gpu H100 --activation geglu_erf --choices skewed --repeat 20 --json
No GPU is needed. Exit status: 0 all is well, 1 a finding or wrong numbers, 2 wrong use, 3 not written.)";

struct NamedInputs {
  const char* name;
  ExpertInputs inputs;
};
constexpr NamedInputs kInputs[] = {{"normal", ExpertInputs::kNormal},
                                   {"shifted", ExpertInputs::kShifted},
                                   {"scaled", ExpertInputs::kScaled},
                                   {"rising", ExpertInputs::kRising},
                                   {"nan-tokens", ExpertInputs::kNanTokens},
                                   {"nan-expert", ExpertInputs::kNanExpert},
                                   {"nan-of-no-choice", ExpertInputs::kNanOfNoChoice}};

struct NamedChoices {
  const char* name;
  Choices choices;
};
constexpr NamedChoices kChoices[] = {{"random", Choices::kRandom},
                                     {"same", Choices::kSame},
                                     {"repeated", Choices::kRepeated},
                                     {"skewed", Choices::kSkewed},
                                     {"foreign", Choices::kForeign}};

// Some minutes each, of which most goes into the reference and the weights.
constexpr std::int64_t kMostProducts = 1'000'000'000, kMostWeights = 50'000'000;

struct EmulateExperts {
  EmulateEachOptions how;
  ExpertsOptions problem{.tokens = 40, .hidden = 128, .intermediate = 96};
  std::string inputs = "normal", choices = "random";

  reference::ExpertsCase data_case() const {
    const ExpertsProblem p = problem.problem();
    const std::int64_t each = static_cast<std::int64_t>(p.hidden) * (p.first_outputs() + p.intermediate);
    if (each * p.owned() > kMostWeights)
      wrong("--hidden", std::to_string(p.hidden),
            fmt::format("must be less with --experts {} --intermediate {}: the emulator takes {} weights, these are {}",
                        p.experts, p.intermediate, kMostWeights, each * p.owned()));
    if (p.rows() > kMostProducts / each)
      wrong("--tokens", std::to_string(p.tokens),
            fmt::format("must be at most {} with --top-k {} --hidden {} --intermediate {}: the emulator takes {} "
                        "products",
                        kMostProducts / each / p.top_k, p.top_k, p.hidden, p.intermediate, kMostProducts));
    const Choices how_chosen = pick(kChoices, "--choices", choices).choices;
    if (how_chosen == Choices::kRandom && p.top_k > p.experts)
      wrong("--top-k", std::to_string(p.top_k),
            fmt::format("must be at most --experts {}, as --choices random are distinct", p.experts));
    return {
        .name = "the result", .problem = p, .inputs = pick(kInputs, "--inputs", inputs).inputs, .choices = how_chosen};
  }
};

/// The tensors, and what fp64 makes of them: the same for every run, and made for the first.
struct Case {
  explicit Case(const reference::ExpertsCase& spec) : data(reference::make_data(spec)), answer(data) {}
  const reference::ExpertsData data;
  const reference::ExpertsAnswer answer;
};

/// Blocks of all launches as the emulator runs them.
std::int64_t blocks_of(const ExpertsPlan& plan, const ExpertsProblem& p) {
  std::int64_t blocks = 0;
  for (const Step& step : experts_steps(*plan.rows, *plan.product, p, emulated::kResidentBlocks, plan.phase_columns))
    blocks += step.grid.x;
  return blocks;
}

int run(const EmulateExperts& e) {
  const reference::ExpertsCase spec = e.data_case();
  const std::vector<Image> images = images_to_emulate(kExpertsOperation);
  const auto plan = [&](const Gpu& gpu, CudaVersion driver) {
    const auto planned = plan_experts(as_called(spec.problem), gpu, driver, images, {.variant = e.how.variant});
    return planned.map([&](const ExpertsPlan& p) { return Chosen{p.product, blocks_of(p, spec.problem)}; });
  };
  std::optional<Case> made;
  const auto emulate = [&](const Image& image, const emu::Options& options, std::string& defect) {
    if (!made) made.emplace(spec);
    const auto& all = emulated::emulated_experts_products();
    const auto product = std::ranges::find(all, image.variant->name, [](const auto& k) { return k.variant.name; });
    reference::ExpertsData data = made->data;
    Result<emu::Stats> ran =
        emulated::run(emulated::rows_kernel_for(*product, emulated::emulated_experts_rows()), *product, data, options,
                      phase_columns_for(experts_product_variant_of(product->variant).config, spec.problem));
    if (ran) defect = reference::defect_of(data, made->answer);
    return ran;
  };
  return emulate_each(e.how, fmt::format("{}, {} tokens", describe(spec.problem), spec.problem.tokens), plan, emulate);
}

}  // namespace

void add_emulate_experts(CLI::App& emulate, int& status) {
  CLI::App* command = emulate.add_subcommand("moe.experts", "The experts of a mixture instead of attention");
  const auto e = std::make_shared<EmulateExperts>();
  e->how.add_gpu_to(*command);
  e->problem.add_to(*command);
  command
      ->add_option("--inputs", e->inputs,
                   "what they are: normal (default), shifted, scaled, rising, nan-tokens, nan-expert, nan-of-no-choice")
      ->type_name("NAME");
  command->add_option("--choices", e->choices, "of experts: random (default), same, repeated, skewed, foreign")
      ->type_name("NAME");
  e->how.add_rest_to(*command);
  command->footer(kExample);
  command->callback([e, &status] { status = run(*e); });
}

}  // namespace flashfit::cli
