// Carried images of the experts' kernels on the GPU, and the same variants in the emulator: both right against fp64,
// and how many of their results are the same bits. The GPU sums a k16 step's products in an order and a precision of
// its own, so that some differ by a rounding.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/launch/image.hpp"
#include "hardware/check.hpp"
#include "hardware/images.hpp"
#include "kernels/moe/experts/cases.hpp"
#include "kernels/moe/experts/plan.hpp"
#include "proof/emulated/experts.hpp"
#include "runtime/images/tensor_map.hpp"

namespace flashfit::hardware {
namespace {

using reference::ExpertsCase, reference::ExpertsData;

/// The two kernels of a call.
struct Pair {
  const emulated::EmulatedKernel &rows, &product;
  lab::LoadedKernel loaded_rows, loaded_product;
};

/// Runs loaded images on the case's memory, red zones and all, in a workspace of poison.
void run_on_gpu(lab::Device& device, const Pair& pair, ExpertsData& data, int phase_columns, Outcome& outcome) {
  ExpertsCall call = data.call();
  Moved moved{device, outcome};
  const auto up = [&](auto& vector, auto*& pointer) {
    if (pointer == nullptr || vector.empty()) return static_cast<std::byte*>(nullptr);
    std::byte* const there = moved.up(bytes_of(vector));
    const auto offset = reinterpret_cast<const std::byte*>(pointer) - reinterpret_cast<const std::byte*>(vector.data());
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(there + offset);
    return there;
  };
  up(data.x.bytes, call.x);
  up(data.w13.bytes, call.w13);
  up(data.w2.bytes, call.w2);
  up(data.b13.bytes, call.b13);
  up(data.b2.bytes, call.b2);
  up(data.ids, call.topk_ids);
  up(data.weights, call.topk_weights);
  std::byte* const out = up(data.out.bytes, call.out);
  std::byte* const z = up(data.z.bytes, call.z);
  std::vector<unsigned char> poison(static_cast<std::size_t>(workspace_bytes(call.problem)), 0xff);
  if (!poison.empty()) call.workspace = moved.up(bytes_of(poison));
  if (!outcome.passed) return;
  const Image rows = image_of(pair.rows), product = image_of(pair.product);
  const Steps steps = experts_steps(rows, product, call.problem, device.gpu().sms, phase_columns);
  ExpertsArguments arguments;
  if (const Result<void> r = arguments.set(experts_product_variant_of(pair.product.variant).config, call, phase_columns,
                                           encode_tensor_map);
      !r)
    outcome.fail(r.error().message);
  for (std::size_t i = 0; i < steps.size() && outcome.passed; ++i) {
    if (steps[i].grid.x == 0) continue;
    const lab::LoadedKernel& kernel = steps[i].image == &rows ? pair.loaded_rows : pair.loaded_product;
    if (const Result<void> r = device.run(kernel, {static_cast<int>(steps[i].grid.x)}, arguments.all()[i]); !r)
      outcome.fail(fmt::format("{}, step {} on the GPU: {}", data.spec.name, i, r.error().message));
  }
  if (!outcome.passed) return;
  if (out != nullptr) moved.down(bytes_of(data.out.bytes), out);
  if (z != nullptr) moved.down(bytes_of(data.z.bytes), z);
  device.release();
}

std::vector<float> results_of(const ExpertsData& data) {
  const ExpertsProblem& p = data.spec.problem;
  std::vector<float> all;
  for (std::int64_t t = 0; t < p.tokens; ++t)
    for (int c = 0; c < p.hidden; ++c) all.push_back(static_cast<float>(data.out.get(0, t, c)));
  return all;
}

Outcome experts(const Place& place, const emulated::EmulatedKernel& product) {
  Outcome outcome;
  const emulated::EmulatedKernel& rows = emulated::rows_kernel_for(product, emulated::emulated_experts_rows());
  const bool rehearsal = place.device == nullptr;
  const auto images_of = [&](const KernelVariant& variant) {
    return rehearsal ? std::vector<LoadedImage>{{"rehearsal", {}}} : load_images(*place.device, variant, outcome);
  };
  const std::vector<LoadedImage> of_rows = images_of(rows.variant), of_product = images_of(product.variant);
  outcome.kept["images"] = of_product.size();
  if (of_rows.empty()) outcome.fail("no image sorts for it");
  const ExpertsProductConfig& config = experts_product_variant_of(product.variant).config;
  std::vector<ExpertsCase> cases = testing::cases_for(config);
  if (experts_finds_choices(config))
    for (const ExpertsCase& spec : testing::one_token_cases(config)) cases.push_back(spec);
  Agreement same;
  for (std::size_t i = 0; i < cases.size() && outcome.passed; i += rehearsal ? 16 : 1) {
    ExpertsData emulated = reference::make_data(cases[i]);
    // And in phases of so many tiles of outputs, where there are more.
    const int columns = static_cast<int>(i % 4);
    if (const auto ran = emulated::run(rows, product, emulated, {}, columns); !ran) outcome.fail(ran.error().message);
    for (std::size_t k = 0; k < of_product.size() && outcome.passed; ++k) {
      ExpertsData gpu = reference::make_data(cases[i]);
      if (rehearsal)
        static_cast<void>(emulated::run(rows, product, gpu, {}, columns));
      else
        run_on_gpu(*place.device, {rows, product, of_rows[k % of_rows.size()].kernel, of_product[k].kernel}, gpu,
                   columns, outcome);
      if (!outcome.passed) break;
      if (const std::string defect = reference::defect_of(gpu); !defect.empty())
        outcome.fail(fmt::format("{}: {}", of_product[k].target, defect));
      const Agreement one =
          compare(fmt::format("{} {}", of_product[k].target, cases[i].name), results_of(gpu), results_of(emulated));
      same.compared += one.compared, same.equal += one.equal, same.nan_payloads += one.nan_payloads;
      if (same.first.empty()) same.first = one.first;
      same.largest = std::max(same.largest, one.largest);
    }
  }
  outcome.kept["out"] = to_json(same);
  return outcome;
}

}  // namespace

std::vector<Check> experts_checks() {
  std::vector<Check> checks;
  for (const emulated::EmulatedKernel& kernel : emulated::emulated_experts_products())
    checks.push_back(
        {"experts", kernel.variant.name, [&kernel](const Place& place) { return experts(place, kernel); }});
  return checks;
}

}  // namespace flashfit::hardware
