#include "runtime/api/moe/experts_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/api/moe/activation.hpp"
#include "runtime/api/moe/router.hpp"
#include "runtime/api/refuse.hpp"
#include "runtime/api/versioned.hpp"

namespace flashfit::api {
namespace {

/// The struct's size in its first version: no caller has a smaller one.
constexpr std::size_t kFirstSize = 200;
constexpr std::uint32_t kLayoutFlags = FLASHFIT_TRANSPOSED | FLASHFIT_INTERLEAVED | FLASHFIT_WEIGHT_ON_INPUT;
constexpr std::uint32_t kKnownFlags = kLayoutFlags | kRouterFlags | FLASHFIT_PTX_ONLY;

using Args = flashfit_fused_moe_args;

bool is_given(const Argument& a) { return a.ndim != 0; }

Result<Finding> finding_of(const Args& a) {
  if (const std::uint32_t unknown = a.flags & ~kKnownFlags)
    return refuse(
        "flags: {:#x} is unknown; accepted: FLASHFIT_TRANSPOSED ({:#x}), FLASHFIT_INTERLEAVED ({:#x}), "
        "FLASHFIT_WEIGHT_ON_INPUT ({:#x}), FLASHFIT_PTX_ONLY ({:#x}), and with router_logits a router's ({:#x})",
        unknown, FLASHFIT_TRANSPOSED, FLASHFIT_INTERLEAVED, FLASHFIT_WEIGHT_ON_INPUT, FLASHFIT_PTX_ONLY, kRouterFlags);
  const bool chosen = a.topk_ids != nullptr || a.topk_weights != nullptr;
  const bool routed = a.router_logits != nullptr, grouped = a.offsets != nullptr;
  if (chosen + routed + grouped != 1)
    return refuse(
        "topk_ids, router_logits, offsets: {} of them given; accepted: topk_ids with topk_weights, or router_logits, "
        "or "
        "offsets",
        chosen + routed + grouped);
  if (!routed) {
    if (a.flags & kRouterFlags)
      return refuse("flags: {:#x} is of a router; accepted: router_logits with it", a.flags & kRouterFlags);
    if (a.router_bias) return refuse("router_bias: given without router_logits; accepted: NULL");
    if (a.top_k != 0 || a.groups != 0 || a.groups_kept != 0 || a.scale != 0)
      return refuse("{}: given without router_logits; accepted: 0", a.top_k != 0   ? "top_k"
                                                                    : a.scale != 0 ? "scale"
                                                                                   : "groups");
  }
  if (grouped) {
    if (a.z) return refuse("z: given with offsets; accepted: NULL");
    if (a.expert_map || a.experts_low != 0 || a.experts_high != 0)
      return refuse("{}: given with offsets; accepted: {}", a.expert_map ? "expert_map" : "experts_low, experts_high",
                    a.expert_map ? "NULL" : "0");
    if (a.shared_w13 || a.shared_w2) return refuse("shared_w13: given with offsets; accepted: NULL");
    if (a.flags & FLASHFIT_WEIGHT_ON_INPUT)
      return refuse("flags: FLASHFIT_WEIGHT_ON_INPUT ({:#x}) with offsets, where rows have no weights",
                    FLASHFIT_WEIGHT_ON_INPUT);
  }
  return grouped ? Finding::kOffsets : routed ? Finding::kLogits : Finding::kIds;
}

Result<void> read_tensors(const Args& a, Finding finding, const char* out, ExpertsTensors& t) {
  const struct {
    const char* name;
    const DLTensor* tensor;
    int ndim;
    const char* layout;
    bool needed;
    Argument& to;
  } all[] = {
      {"x", a.x, 2, "[tokens, hidden]", true, t.x},
      {"w13", a.w13, 3, "[experts, outputs, hidden]", true, t.w13},
      {"w2", a.w2, 3, "[experts, hidden, intermediate]", true, t.w2},
      {out, a.out, 2, "[tokens, hidden]", true, t.out},
      {"topk_ids", a.topk_ids, 2, "[tokens, top_k]", finding == Finding::kIds, t.ids},
      {"topk_weights", a.topk_weights, 2, "[tokens, top_k]", finding == Finding::kIds, t.weights},
      {"router_logits", a.router_logits, 2, "[tokens, experts]", false, t.logits},
      {"offsets", a.offsets, 1, "[experts + 1]", false, t.offsets},
      {"b13", a.b13, 2, "[experts, outputs]", false, t.b13},
      {"b2", a.b2, 2, "[experts, hidden]", false, t.b2},
      {"router_bias", a.router_bias, 1, "[experts]", false, t.bias},
      {"expert_map", a.expert_map, 1, "[experts]", false, t.map},
      {"shared_w13", a.shared_w13, 2, "[outputs, hidden]", a.shared_w2 || a.shared_gate, t.shared_w13},
      {"shared_w2", a.shared_w2, 2, "[hidden, intermediate]", a.shared_w13 || a.shared_gate, t.shared_w2},
      {"shared_gate", a.shared_gate, 1, "[hidden]", false, t.shared_gate},
      {"z", a.z, 2, "[choices + experts, outputs]", false, t.z},
  };
  for (const auto& each : all) {
    if (!each.tensor && !each.needed) continue;
    if (auto ok = read_argument(each.name, each.tensor, each.ndim, each.layout, each.to); !ok) return ok;
    const DLDevice mine = each.to.device, first = t.x.device;
    if (mine.device_type != first.device_type || mine.device_id != first.device_id)
      return refuse("{}: device is {}; accepted: {}, where x is", each.name, text(mine), text(first));
  }
  return {};
}

Result<DType> check_dtypes(const ExpertsTensors& t) {
  const DLDataType of_x = t.x.dtype;
  const bool half = is_dtype(of_x, kDLFloat, 16), brain = is_dtype(of_x, kDLBfloat, 16);
  if (!half && !brain && (!is_dtype(of_x, kDLFloat, 32) || t.x.on_gpu()))
    return refuse("x: dtype is {} on {}; accepted: fp16, bf16, on the CPU also fp32", text(of_x), text(t.x.device));
  for (const Argument* a : {&t.w13, &t.w2, &t.out, &t.b13, &t.b2, &t.shared_w13, &t.shared_w2, &t.shared_gate, &t.z})
    if (is_given(*a) && (a->dtype.code != of_x.code || a->dtype.bits != of_x.bits))
      return refuse("{}: dtype is {}; accepted: {}, as x", a->name, text(a->dtype), text(of_x));
  for (const Argument* a : {&t.ids, &t.offsets, &t.map})
    if (is_given(*a) && !is_dtype(a->dtype, kDLInt, 32))
      return refuse("{}: dtype is {}; accepted: int32", a->name, text(a->dtype));
  if (is_given(t.weights) && !is_dtype(t.weights.dtype, kDLFloat, 32))
    return refuse("topk_weights: dtype is {}; accepted: fp32", text(t.weights.dtype));
  return half ? DType::kF16 : brain ? DType::kBF16 : DType::kF32;
}

Result<void> check_activation(const Args& a, ExpertsProblem& p) {
  const auto activation = activation_of(a.activation);
  if (!activation) return tl::unexpected(activation.error());
  p.activation = *activation;
  const struct {
    const char* name;
    float value;
  } numbers[] = {{"alpha", a.alpha}, {"limit", a.limit}, {"shift", a.shift}};
  for (const auto& each : numbers)
    if (const bool no_limit = each.name[0] == 'l' && each.value > 0; !no_limit && !std::isfinite(each.value))
      return refuse("{}: {}; accepted: finite numbers", each.name, each.value);
  if (p.activation != Activation::kSwiglu)
    for (const auto& each : numbers)
      if (each.value != 0) return refuse("{}: {} with {}; accepted: 0", each.name, each.value, name_of(p.activation));
  if (!(a.limit >= 0)) return refuse("limit: {}; accepted: above 0, or 0 for none", a.limit);
  read_activation_numbers(a, p);
  if (!has_gate(p.activation) && a.flags & FLASHFIT_INTERLEAVED)
    return refuse("flags: FLASHFIT_INTERLEAVED ({:#x}) with {}, which has no gate", FLASHFIT_INTERLEAVED,
                  name_of(p.activation));
  return {};
}

/// Refuses a tensor that has not these sizes.
Result<void> expect(const Argument& a, std::initializer_list<std::int64_t> sizes, const char* layout) {
  if (!is_given(a) || std::ranges::equal(a.shape(), sizes)) return {};
  return refuse("{}: shape is {}; accepted: {}, {}", a.name, text(a.shape()), text({sizes.begin(), sizes.size()}),
                layout);
}

/// Of weights that may be transposed.
std::int64_t inputs_of(const Argument& w, bool transposed) { return w.size[w.ndim - (transposed ? 2 : 1)]; }

Result<void> expect_weights(const Argument& w, std::int64_t experts, std::int64_t outputs, std::int64_t inputs,
                            bool transposed, const char* layout) {
  if (!is_given(w)) return {};
  const std::int64_t first = transposed ? inputs : outputs, second = transposed ? outputs : inputs;
  return w.ndim == 3 ? expect(w, {experts, first, second}, layout) : expect(w, {first, second}, layout);
}

Result<void> check_shapes(const ExpertsTensors& t, ExpertsProblem& p) {
  const std::int64_t tokens = t.x.size[0], hidden = t.x.size[1], owned = t.w13.size[0];
  const int gates = has_gate(p.activation) ? 2 : 1;
  if (hidden < 1) return refuse("x: shape is {}; accepted: a hidden size of 1 or more", text(t.x.shape()));
  if (owned < 1 || owned > kMostExperts)
    return refuse("w13: shape is {}; accepted: 1 to {} experts", text(t.w13.shape()), kMostExperts);
  const std::int64_t intermediate = inputs_of(t.w2, p.transposed);
  if (intermediate < 1 || intermediate > kMaxSize / 2)
    return refuse("w2: shape is {}; accepted: an intermediate size from 1 to {}", text(t.w2.shape()), kMaxSize / 2);
  auto ok = expect_weights(t.w2, owned, hidden, intermediate, p.transposed,
                           p.transposed ? "[experts, intermediate, hidden]" : "[experts, hidden, intermediate]");
  if (ok)
    ok = expect_weights(t.w13, owned, gates * intermediate, hidden, p.transposed,
                        p.transposed ? "[experts, hidden, outputs]" : "[experts, outputs, hidden]");
  if (ok) ok = expect(t.out, {tokens, hidden}, "as x");
  if (ok) ok = expect(t.b13, {owned, gates * intermediate}, "[experts, outputs of w13]");
  if (ok) ok = expect(t.b2, {owned, hidden}, "[experts, hidden]");
  if (ok) ok = expect(t.offsets, {owned + 1}, "[experts + 1]");
  if (ok && is_given(t.shared_w13)) {
    const std::int64_t own = inputs_of(t.shared_w2, p.transposed);
    if (own < 1 || own > kMaxSize / 2)
      return refuse("shared_w2: shape is {}; accepted: an intermediate size from 1 to {}", text(t.shared_w2.shape()),
                    kMaxSize / 2);
    ok = expect_weights(t.shared_w2, 1, hidden, own, p.transposed,
                        p.transposed ? "[intermediate, hidden]" : "[hidden, intermediate]");
    if (ok)
      ok = expect_weights(t.shared_w13, 1, gates * own, hidden, p.transposed,
                          p.transposed ? "[hidden, outputs]" : "[outputs, hidden]");
    if (ok) ok = expect(t.shared_gate, {hidden}, "[hidden]");
  }
  p.tokens = tokens, p.hidden = static_cast<int>(hidden), p.intermediate = static_cast<int>(intermediate);
  return ok;
}

/// The experts that are there, those that are owned, and how many a token has.
Result<void> check_experts_owned(const Args& a, CheckedExperts& c) {
  const ExpertsTensors& t = c.tensors;
  ExpertsProblem& p = c.call.problem;
  const std::int64_t owned = t.w13.size[0];
  p.low = 0, p.high = p.experts = static_cast<int>(owned);
  if (a.expert_map) {
    if (a.experts_low != 0 || a.experts_high != 0)
      return refuse("experts_low: {} and experts_high: {} with expert_map; accepted: 0", a.experts_low, a.experts_high);
    if (t.map.size[0] < 1) return refuse("expert_map: shape is {}; accepted: a place or more", text(t.map.shape()));
    c.map = {static_cast<const std::int32_t*>(t.map.data), static_cast<std::size_t>(t.map.size[0])};
    c.foreign_ids = true;
  } else if (a.experts_low != 0 || a.experts_high != 0) {
    if (a.experts_low < 0 || a.experts_high - std::int64_t{a.experts_low} != owned)
      return refuse(
          "experts_low: {}, experts_high: {}; accepted: 0 or more, and a range of {} experts, as many as w13 has",
          a.experts_low, a.experts_high, owned);
    if (a.experts_high > (1 << 20)) return refuse("experts_high: {}; accepted: {} or less", a.experts_high, 1 << 20);
    p.low = a.experts_low, p.high = p.experts = a.experts_high;
    c.foreign_ids = true;
  }
  if (c.finding != Finding::kLogits) {
    p.top_k = c.finding == Finding::kOffsets ? 1 : static_cast<int>(t.ids.size[1]);
    if (p.top_k < 1 || p.top_k > kMostChosen)
      return refuse("topk_ids: shape is {}; accepted: top_k from 1 to {}", text(t.ids.shape()), kMostChosen);
    auto ok = expect(t.ids, {p.tokens, p.top_k}, "[tokens, top_k]");
    if (ok) ok = expect(t.weights, {p.tokens, p.top_k}, "as topk_ids");
    return ok;
  }
  const auto dtype = check_logits(t.logits);
  if (!dtype) return tl::unexpected(dtype.error());
  const std::int64_t experts = t.logits.size[1];
  const std::int64_t wanted = a.expert_map ? t.map.size[0] : experts;
  if (auto ok =
          expect(t.logits, {p.tokens, wanted}, a.expert_map ? "[tokens, experts of expert_map]" : "[tokens, experts]");
      !ok)
    return ok;
  if (a.expert_map == nullptr && (c.foreign_ids ? experts < p.high : experts != owned))
    return refuse("router_logits: shape is {}; accepted: {} {}", text(t.logits.shape()), p.high,
                  c.foreign_ids ? "experts or more" : "experts, as many as w13 has");
  if (c.map.empty()) p.experts = static_cast<int>(experts);
  const std::int64_t most = experts < kMaxTopK ? experts : kMaxTopK;
  if (a.top_k < 1 || a.top_k > most) return refuse("top_k: {}; accepted: 1 to {}", a.top_k, most);
  p.top_k = a.top_k;
  RouteProblem& r = c.route.problem;
  r.dtype = *dtype, r.tokens = p.tokens, r.experts = static_cast<int>(experts), r.top_k = a.top_k;
  auto ok = set_router(r, {a.flags, a.router_bias != nullptr, a.groups, a.groups_kept, a.scale});
  if (ok && r.biased) ok = check_router_bias(t.bias, experts);
  c.route.logits = t.logits.data, c.route.logits_row = t.logits.stride[0];
  c.route.bias = static_cast<const float*>(t.bias.data);
  return ok;
}

Result<void> check_memory(const ExpertsTensors& t, bool reads_out) {
  for (const Argument* a : {&t.x, &t.w13, &t.w2, &t.out, &t.b13, &t.b2, &t.shared_w13, &t.shared_w2, &t.shared_gate})
    if (is_given(*a) && a->stride[a->ndim - 1] != 1)
      return refuse("{}: strides are {}; accepted: 1 in the last dimension", a->name, text(a->strides()));
  for (const Argument* a : {&t.ids, &t.weights, &t.offsets, &t.map, &t.z})
    if (is_given(*a) && !is_contiguous(*a))
      return refuse("{}: strides are {}; accepted: contiguous", a->name, text(a->strides()));
  if (!strides_nest(t.out))
    return refuse(
        "{}: shape {} with strides {} steps into itself; accepted: each stride past all that smaller ones span",
        t.out.name, text(t.out.shape()), text(t.out.strides()));
  for (const Argument* written : {&t.out, &t.z}) {
    if (!is_given(*written) || (written == &t.out && reads_out)) continue;
    for (const Argument* other : t.given())
      if (other != written && overlap(*written, *other)) return refuse_overlap(*written, *other);
  }
  return {};
}

/// z, once the call's problem is known.
Result<void> check_kept(const CheckedExperts& c) {
  const ExpertsProblem& p = c.call.problem;
  const Argument& z = c.tensors.z;
  if (!is_given(z)) return {};
  if (!z.on_gpu()) return refuse("z: given with tensors on the CPU; accepted there: NULL");
  return expect(z, {p.rows() + p.owned(), p.first_outputs()}, "[choices + experts, outputs of w13]");
}

/// Offsets and maps by value: all in the CPU's memory.
Result<void> check_values(const CheckedExperts& c) {
  const ExpertsProblem& p = c.call.problem;
  for (int e = 0; c.offsets != nullptr && e <= p.owned(); ++e) {
    if (c.offsets[e] < 0 || c.offsets[e] > p.tokens)
      return refuse("offsets: {} at [{}]; accepted: 0 to {}, the rows of x", c.offsets[e], e, p.tokens);
    if (e > 0 && c.offsets[e] < c.offsets[e - 1])
      return refuse("offsets: {} follows {} at [{}]; accepted: values that never fall", c.offsets[e], c.offsets[e - 1],
                    e);
  }
  for (std::size_t i = 0; i < c.map.size(); ++i)
    if (c.map[i] < -1 || c.map[i] >= p.owned())
      return refuse("expert_map: {} at [{}]; accepted: -1 to {}", c.map[i], i, p.owned() - 1);
  return {};
}

void fill_call(CheckedExperts& c) {
  const ExpertsTensors& t = c.tensors;
  ExpertsCall& call = c.call;
  const auto expert_stride = [](const Argument& a) { return is_given(a) ? a.stride[0] : 0; };
  call.x = t.x.data, call.x_row = t.x.stride[0];
  call.w13 = t.w13.data, call.w13_expert = t.w13.stride[0], call.w13_row = t.w13.stride[1];
  call.w2 = t.w2.data, call.w2_expert = t.w2.stride[0], call.w2_row = t.w2.stride[1];
  call.b13 = t.b13.data, call.b13_expert = expert_stride(t.b13);
  call.b2 = t.b2.data, call.b2_expert = expert_stride(t.b2);
  call.topk_ids = static_cast<const int*>(t.ids.data);
  call.topk_weights = static_cast<const float*>(t.weights.data);
  call.map = c.map.data(), call.mapped = static_cast<int>(c.map.size());
  call.offsets = c.offsets, call.problem.sorted = c.offsets != nullptr;
  call.out = t.out.data, call.out_row = t.out.stride[0];
  call.z = t.z.data, call.problem.keeps = is_given(t.z);
  call.problem.bias13 = is_given(t.b13), call.problem.bias2 = is_given(t.b2);
  c.has_shared = is_given(t.shared_w13);
  if (!c.has_shared) return;
  ExpertsCall& shared = c.shared.call;
  shared.problem = call.problem;
  shared.problem.experts = shared.problem.high = shared.problem.top_k = 1;
  shared.problem.low = 0;
  shared.problem.bias13 = shared.problem.bias2 = false;
  shared.problem.weight_on = WeightOn::kOutput;
  shared.problem.intermediate = static_cast<int>(inputs_of(t.shared_w2, call.problem.transposed));
  shared.w13 = t.shared_w13.data, shared.w13_row = t.shared_w13.stride[0];
  shared.w2 = t.shared_w2.data, shared.w2_row = t.shared_w2.stride[0];
  c.shared.gate = t.shared_gate.data;
}

}  // namespace

std::vector<const Argument*> ExpertsTensors::given() const {
  std::vector<const Argument*> all;
  for (const Argument* a : {&x, &w13, &w2, &out, &ids, &weights, &logits, &offsets, &b13, &b2, &bias, &map, &shared_w13,
                            &shared_w2, &shared_gate, &z})
    if (is_given(*a)) all.push_back(a);
  return all;
}

Result<CheckedExperts> check_experts(const flashfit_fused_moe_args* caller_args, const char* out, bool reads_out) {
  const auto args = read_versioned(caller_args, kFirstSize);
  if (!args) return tl::unexpected(args.error());
  const auto finding = finding_of(*args);
  if (!finding) return tl::unexpected(finding.error());
  CheckedExperts c;
  c.finding = *finding;
  ExpertsProblem& p = c.call.problem;
  if (auto ok = read_tensors(*args, *finding, out, c.tensors); !ok) return tl::unexpected(std::move(ok.error()));
  const auto dtype = check_dtypes(c.tensors);
  if (!dtype) return tl::unexpected(dtype.error());
  p.dtype = *dtype;
  p.transposed = args->flags & FLASHFIT_TRANSPOSED;
  p.gate_up = args->flags & FLASHFIT_INTERLEAVED ? GateUp::kInterleaved : GateUp::kConcatenated;
  p.weight_on = args->flags & FLASHFIT_WEIGHT_ON_INPUT ? WeightOn::kInput : WeightOn::kOutput;
  auto ok = check_activation(*args, p);
  if (ok) ok = check_shapes(c.tensors, p);
  if (ok) ok = check_experts_owned(*args, c);
  if (ok) ok = check_kept(c);
  if (ok) ok = check_memory(c.tensors, reads_out);
  if (ok && p.rows() > std::numeric_limits<std::int32_t>::max())
    ok = refuse("topk_ids: {} tokens of {} experts each; accepted: fewer than 2^31 choices", p.tokens, p.top_k);
  c.on_gpu = c.tensors.x.on_gpu();
  c.offsets = static_cast<const std::int32_t*>(c.tensors.offsets.data);
  if (ok && !c.on_gpu) ok = check_values(c);
  if (ok && args->variant && !c.on_gpu)
    ok = refuse("variant: \"{}\" with tensors on the CPU; accepted there: NULL", args->variant);
  if (!ok) return tl::unexpected(std::move(ok.error()));
  fill_call(c);
  c.device = c.on_gpu ? c.tensors.x.device.device_id : 0;
  c.stream = args->stream;
  c.options = {args->variant ? args->variant : "", (args->flags & FLASHFIT_PTX_ONLY) != 0};
  c.workspace = args->workspace, c.workspace_bytes = args->workspace_bytes;
  return c;
}

Result<void> check_ids(const CheckedExperts& c) {
  const ExpertsProblem& p = c.call.problem;
  for (std::int64_t i = 0; i < p.rows(); ++i)
    if (const int id = c.call.topk_ids[i]; id < 0 || id >= p.experts)
      return refuse(
          "topk_ids: {} at [{}, {}]; accepted: 0 to {}; with a range or a map of the experts that are there, any", id,
          i / p.top_k, i % p.top_k, p.experts - 1);
  return {};
}

std::string describe(const CheckedExperts& c) {
  const ExpertsProblem& p = c.call.problem;
  const char* const finding = c.finding == Finding::kOffsets  ? "sorted"
                              : c.finding == Finding::kLogits ? "routed"
                                                              : "chosen";
  return fmt::format("{} {} rows of {} through {} of {} experts, {} between, {}", name_of(p.dtype), finding, p.hidden,
                     p.owned(), p.experts, p.intermediate, name_of(p.activation));
}

}  // namespace flashfit::api
