#include "measure/roofline.hpp"

#include <algorithm>

namespace flashfit::measure {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Ceiling& c) {
  return {{"value", c.value()}, {"model", c.model > 0 ? Json(c.model) : Json()}, {"samples", c.samples}};
}

Json by_dtype(const std::map<std::string, Ceiling>& ceilings) {
  Json found = Json::object();
  for (const auto& [dtype, ceiling] : ceilings) found[dtype] = json_of(ceiling);
  return found;
}

}  // namespace

double Ceiling::value() const { return samples.empty() ? 0 : *std::max_element(samples.begin(), samples.end()); }

double Bound::longest() const { return std::max({tensor, exp, memory}); }

const char* Bound::binds() const {
  return tensor >= exp && tensor >= memory ? "tensor" : memory >= exp ? "memory" : "exp";
}

std::optional<Bound> bound_of(const Case& c, const Ceilings& ceilings) {
  const auto tensor = ceilings.tensor_tflops.find(name_of(c.dtype));
  if (tensor == ceilings.tensor_tflops.end()) return std::nullopt;
  const double tflops = tensor->second.limit(), exps = ceilings.exp_g_per_s.limit(),
               gb_s = ceilings.memory_gb_per_s.limit();
  if (tflops <= 0 || exps <= 0 || gb_s <= 0) return std::nullopt;
  const Work work = work_of(c);
  return Bound{.tensor = work.flop / tflops * 1e-6, .exp = work.exp / exps * 1e-3, .memory = work.bytes / gb_s * 1e-3};
}

Json json_of(const Ceilings& c) {
  return {{"tensor_tflops", by_dtype(c.tensor_tflops)},
          {"mma_sync_tflops", by_dtype(c.mma_sync_tflops)},
          {"exp_g_per_s", json_of(c.exp_g_per_s)},
          {"memory_gb_per_s", json_of(c.memory_gb_per_s)}};
}

Json json_of(const Bound& b) {
  return {{"tensor", b.tensor}, {"exp", b.exp}, {"memory", b.memory}, {"binds", b.binds()}};
}

}  // namespace flashfit::measure
