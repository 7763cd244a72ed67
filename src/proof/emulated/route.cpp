#include "proof/emulated/route.hpp"

#include "kernels/moe/route/plan.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emulated/steps.hpp"

namespace flashfit::emulated {

Result<emu::Stats> run(const EmulatedKernel& kernel, reference::RouteData& data, const emu::Options& options) {
  const RouteCall call = data.call();
  emu::Memory memory;
  memory.read_only("logits", call.logits, data.logits_bytes());
  if (call.bias != nullptr) memory.read_only("bias", call.bias, data.bias.size() * sizeof(float));
  memory.writable("weights", call.weights, data.results_bytes());
  memory.writable("ids", call.ids, data.results_bytes());
  const Image image = image_of(kernel);
  const RouteParams params = route_params(call);
  const void* const arguments[] = {&params};
  return run_steps(route_steps(image, call.problem).all(), arguments, {&kernel, 1}, memory, options);
}

}  // namespace flashfit::emulated
