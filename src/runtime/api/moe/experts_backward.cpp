#include "runtime/api/moe/experts_backward.hpp"

#include <algorithm>

#include "runtime/api/decision_log.hpp"
#include "runtime/api/moe/experts_check.hpp"
#include "runtime/api/refuse.hpp"
#include "runtime/api/settings.hpp"
#include "runtime/api/versioned.hpp"
#include "runtime/cpu/experts_backward.hpp"

namespace flashfit::api {
namespace {

/// The struct's size in its first version: no caller has a smaller one.
constexpr std::size_t kFirstSize = 168;
constexpr std::uint32_t kKnownFlags = FLASHFIT_TRANSPOSED | FLASHFIT_INTERLEAVED | FLASHFIT_WEIGHT_ON_INPUT;

using Args = flashfit_fused_moe_backward_args;

/// The forward's call, dout in out's place: its rules are these.
flashfit_fused_moe_args forward_of(const Args& a) {
  flashfit_fused_moe_args f{};
  f.struct_size = sizeof f;
  f.flags = a.flags;
  f.x = a.x, f.w13 = a.w13, f.w2 = a.w2, f.out = a.dout;
  f.topk_ids = a.topk_ids, f.topk_weights = a.topk_weights;
  f.b13 = a.b13, f.b2 = a.b2;
  f.stream = a.stream;
  f.experts_low = a.experts_low, f.experts_high = a.experts_high;
  f.activation = a.activation;
  f.alpha = a.alpha, f.limit = a.limit, f.shift = a.shift;
  return f;
}

/// A gradient and what it is the gradient of.
struct Pair {
  const char* name;
  const DLTensor* tensor;
  const Argument& of;
  const char* layout;
  Argument gradient;
};

Result<void> read(Pair& pair, const Argument& x) {
  if (!pair.tensor) return {};
  Argument& g = pair.gradient;
  if (pair.of.ndim == 0) return refuse("{}: given without {}; accepted: NULL", pair.name, pair.name + 1);
  if (auto ok = read_argument(pair.name, pair.tensor, pair.of.ndim, pair.layout, g); !ok) return ok;
  if (g.device.device_type != x.device.device_type || g.device.device_id != x.device.device_id)
    return refuse("{}: device is {}; accepted: {}, where x is", g.name, text(g.device), text(x.device));
  if (g.dtype.code != pair.of.dtype.code || g.dtype.bits != pair.of.dtype.bits)
    return refuse("{}: dtype is {}; accepted: {}, as {}", g.name, text(g.dtype), text(pair.of.dtype), pair.of.name);
  if (!std::ranges::equal(g.shape(), pair.of.shape()))
    return refuse("{}: shape is {}; accepted: {}, as {}", g.name, text(g.shape()), text(pair.of.shape()), pair.of.name);
  if (g.stride[g.ndim - 1] != 1)
    return refuse("{}: strides are {}; accepted: 1 in the last dimension", g.name, text(g.strides()));
  if (!strides_nest(g))
    return refuse(
        "{}: shape {} with strides {} steps into itself; accepted: each stride past all that smaller ones span", g.name,
        text(g.shape()), text(g.strides()));
  return {};
}

Result<void> check_apart(std::span<const Pair> pairs, const CheckedExperts& checked) {
  for (const Pair& pair : pairs) {
    const auto apart = [&](const Argument& other) -> Result<void> {
      const Argument& g = pair.gradient;
      if (&g == &other || !overlap(g, other)) return {};
      return refuse_overlap(g, other);
    };
    for (const Argument* input : checked.tensors.given())
      if (auto ok = apart(*input); !ok) return ok;
    for (const Pair& other : pairs)
      if (auto ok = apart(other.gradient); !ok) return ok;
  }
  return {};
}

Result<void> run(const Args& args) {
  if (const std::uint32_t unknown = args.flags & ~kKnownFlags)
    return refuse(
        "flags: {:#x} is unknown; accepted: FLASHFIT_TRANSPOSED ({:#x}), FLASHFIT_INTERLEAVED ({:#x}), "
        "FLASHFIT_WEIGHT_ON_INPUT ({:#x})",
        unknown, FLASHFIT_TRANSPOSED, FLASHFIT_INTERLEAVED, FLASHFIT_WEIGHT_ON_INPUT);
  // Without either, the forward's check would ask for its other ways to choose experts, which a backward does not have.
  if (args.topk_ids == nullptr && args.topk_weights == nullptr)
    return refuse("topk_ids: NULL; accepted: a tensor [tokens, top_k]");
  const flashfit_fused_moe_args forward = forward_of(args);
  const auto checked = check_experts(&forward, "dout", true);
  if (!checked) return tl::unexpected(checked.error());
  const ExpertsTensors& t = checked->tensors;
  Pair pairs[] = {{"dx", args.dx, t.x, "[tokens, hidden]", {}},
                  {"dw13", args.dw13, t.w13, "as w13", {}},
                  {"dw2", args.dw2, t.w2, "as w2", {}},
                  {"db13", args.db13, t.b13, "[experts, outputs]", {}},
                  {"db2", args.db2, t.b2, "[experts, hidden]", {}},
                  {"dtopk_weights", args.dtopk_weights, t.weights, "[tokens, top_k]", {}}};
  for (Pair& pair : pairs)
    if (auto ok = read(pair, t.x); !ok) return ok;
  const Argument &dx = pairs[0].gradient, &dw13 = pairs[1].gradient, &dw2 = pairs[2].gradient,
                 &db13 = pairs[3].gradient, &db2 = pairs[4].gradient, &dweights = pairs[5].gradient;
  if (!is_contiguous(dweights))
    return refuse("dtopk_weights: strides are {}; accepted: contiguous", text(dweights.strides()));
  if (auto ok = check_apart(pairs, *checked); !ok) return ok;
  if (auto ok = check_enabled("moe.layer.backward", checked->on_gpu); !ok) return ok;
  if (checked->on_gpu)
    return fail(Code::kMisfit, "x: on a GPU there is no kernel for gradients of experts yet; the CPU computes them");
  if (!checked->foreign_ids)
    if (auto ok = check_ids(*checked); !ok) return ok;
  if (logging())
    log_once(fmt::format("moe.layer.backward {}, {} tokens: cpu, {}", describe(*checked), checked->call.problem.tokens,
                         cpu::kernels().front().name));
  return cpu::experts_backward(checked->call, t.out.data, t.out.stride[0],
                               {.dx = dx.data,
                                .dx_row = dx.stride[0],
                                .dw13 = dw13.data,
                                .dw13_expert = dw13.stride[0],
                                .dw13_row = dw13.stride[1],
                                .dw2 = dw2.data,
                                .dw2_expert = dw2.stride[0],
                                .dw2_row = dw2.stride[1],
                                .db13 = db13.data,
                                .db13_expert = db13.stride[0],
                                .db2 = db2.data,
                                .db2_expert = db2.stride[0],
                                .dweights = static_cast<float*>(dweights.data)});
}

}  // namespace

Result<void> fused_moe_backward(const flashfit_fused_moe_backward_args* caller_args) {
  const auto args = read_versioned(caller_args, kFirstSize);
  Result<void> done = args ? run(*args) : Result<void>(tl::unexpected(args.error()));
  log_refusal("moe.layer.backward", done);
  return done;
}

}  // namespace flashfit::api
