// flashfit emulate moe.route: the router's kernel that a GPU would get, on the CPU under the emulator, against fp64.
#include "cli/emulate_route.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/emulate_each.hpp"
#include "cli/emulate_images.hpp"
#include "cli/options.hpp"
#include "cli/pick.hpp"
#include "cli/route_options.hpp"
#include "kernels/moe/route/plan.hpp"
#include "proof/emulated/route.hpp"

namespace flashfit::cli {
namespace {

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
constexpr NamedLogits kLogits[] = {
    {"normal", Logits::kNormal},     {"ties", Logits::kTies},     {"equal", Logits::kEqual},
    {"shifted", Logits::kShifted},   {"steep", Logits::kSteep},   {"nan", Logits::kNan},
    {"infinite", Logits::kInfinite}, {"hidden", Logits::kHidden}, {"tiny", Logits::kTiny}};

constexpr std::int64_t kMostLogits = 100'000'000;  // some minutes

struct EmulateRoute {
  EmulateEachOptions how;
  RouteOptions problem{.tokens = 100};
  std::string logits = "normal";

  reference::RouteCase data_case() const {
    const RouteProblem p = problem.problem();
    if (p.tokens * p.experts > kMostLogits)
      wrong("--tokens", std::to_string(p.tokens),
            fmt::format("must be at most {} with --experts {}: the emulator takes {} logits", kMostLogits / p.experts,
                        p.experts, kMostLogits));
    return {.name = "the result", .problem = p, .logits = pick(kLogits, "--logits", logits).logits};
  }
};

int run(const EmulateRoute& e) {
  const reference::RouteCase spec = e.data_case();
  const std::vector<Image> images = images_to_emulate(kRouteFamily.operation);
  const auto plan = [&](const Gpu& gpu, CudaVersion driver) {
    return plan_route(spec.problem, gpu, driver, images, {.variant = e.how.variant}).map([](const RoutePlan& p) {
      return Chosen{&p.image(), p.steps[0].grid.x};
    });
  };
  const auto emulate = [&](const Image& image, const emu::Options& options, std::string& defect) {
    const auto& all = emulated::emulated_routes();
    const auto kernel = std::ranges::find(all, image.variant->name, [](const auto& k) { return k.variant.name; });
    reference::RouteData data = reference::make_data(spec);
    Result<emu::Stats> ran = emulated::run(*kernel, data, options);
    if (ran) defect = reference::defect_of(data);
    return ran;
  };
  return emulate_each(e.how, fmt::format("{}, {} tokens", describe(spec.problem), spec.problem.tokens), plan, emulate);
}

}  // namespace

void add_emulate_route(CLI::App& emulate, int& status) {
  CLI::App* command = emulate.add_subcommand("moe.route", "The router of a mixture of experts instead of attention");
  const auto e = std::make_shared<EmulateRoute>();
  e->how.add_gpu_to(*command);
  e->problem.add_to(*command);
  command
      ->add_option("--logits", e->logits,
                   "what they are: normal (default), ties, equal, shifted, steep, nan, infinite, hidden")
      ->type_name("NAME");
  e->how.add_rest_to(*command);
  command->footer(kExample);
  command->callback([e, &status] { status = run(*e); });
}

}  // namespace flashfit::cli
