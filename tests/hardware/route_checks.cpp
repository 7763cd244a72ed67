// Carried images of the router's kernels on the GPU, and the same variants in the emulator: the same ids, and weights
// that differ at most where the GPU's compiler contracts a product and a sum.
#include <fmt/format.h>

#include "core/launch/image.hpp"
#include "hardware/check.hpp"
#include "hardware/images.hpp"
#include "kernels/moe/route/plan.hpp"
#include "proof/emulated/route.hpp"

namespace flashfit::hardware {
namespace {

using reference::RouteCase, reference::RouteData;

/// Runs a loaded image on the case's memory, red zones and all.
void run_on_gpu(lab::Device& device, const lab::LoadedKernel& kernel, const Image& image, RouteData& data,
                Outcome& outcome) {
  const RouteCall call = data.call();
  RouteParams p = route_params(call);
  Moved moved{device, outcome};
  std::byte* const logits = moved.up(bytes_of(data.logits));
  std::byte* const weights = moved.up(bytes_of(data.weights));
  std::byte* const ids = moved.up(bytes_of(data.ids));
  std::byte* const bias = data.bias.empty() ? nullptr : moved.up(bytes_of(data.bias));
  if (!outcome.passed) return;
  const auto at = [](std::byte* there, const void* pointer, const void* here) {
    return there + (static_cast<const std::byte*>(pointer) - static_cast<const std::byte*>(here));
  };
  p.logits = at(logits, p.logits, data.logits.data());
  p.weights = reinterpret_cast<float*>(at(weights, p.weights, data.weights.data()));
  p.ids = reinterpret_cast<int*>(at(ids, p.ids, data.ids.data()));
  p.bias = reinterpret_cast<const float*>(bias);
  const Steps steps = route_steps(image, call.problem);
  if (const Result<void> r = device.run(kernel, {static_cast<int>(steps[0].grid.x)}, &p); !r)
    outcome.fail("on the GPU: " + r.error().message);
  if (!outcome.passed) return;
  moved.down(bytes_of(data.weights), weights);
  moved.down(bytes_of(data.ids), ids);
  device.release();
}

Outcome route(const Place& place, const emulated::EmulatedKernel& kernel) {
  Outcome outcome;
  const RouteConfig& config = route_variant_of(kernel.variant).config;
  const bool rehearsal = place.device == nullptr;
  const std::vector<LoadedImage> images =
      rehearsal ? std::vector<LoadedImage>{{"rehearsal", {}}} : load_images(*place.device, kernel.variant, outcome);
  outcome.kept["images"] = images.size();
  const Image image{
      .variant = &kernel.variant, .target = {}, .registers = 0, .local_bytes = 0, .bytes = 0, .entry = {}};
  Agreement weights;
  for (const RouteCase& spec : reference::route_gpu_cases(config.dtype, config.experts)) {
    RouteData emulated = reference::make_data(spec);
    if (const auto ran = emulated::run(kernel, emulated, {}); !ran) outcome.fail(ran.error().message);
    for (const auto& [target, loaded] : images) {
      RouteData gpu = reference::make_data(spec);
      if (rehearsal)
        static_cast<void>(emulated::run(kernel, gpu, {}));
      else
        run_on_gpu(*place.device, loaded, image, gpu, outcome);
      if (const std::string defect = reference::defect_of(gpu); !defect.empty())
        outcome.fail(fmt::format("{}: {}", target, defect));
      if (!outcome.passed) return outcome;
      const Agreement one = compare(fmt::format("{} {} weights", target, spec.name), gpu.weights, emulated.weights);
      weights.compared += one.compared, weights.equal += one.equal, weights.nan_payloads += one.nan_payloads;
      if (weights.first.empty()) weights.first = one.first;
      weights.largest = std::max(weights.largest, one.largest);
    }
  }
  outcome.kept["weights"] = to_json(weights);
  return outcome;
}

}  // namespace

std::vector<Check> route_checks() {
  std::vector<Check> checks;
  for (const emulated::EmulatedKernel& kernel : emulated::emulated_routes())
    checks.push_back({"route", kernel.variant.name, [&kernel](const Place& place) { return route(place, kernel); }});
  return checks;
}

}  // namespace flashfit::hardware
