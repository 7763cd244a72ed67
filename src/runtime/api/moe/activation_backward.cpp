#include "runtime/api/moe/activation_backward.hpp"

#include <cmath>

#include "kernels/moe/experts/gradient/plan.hpp"
#include "runtime/api/decision_log.hpp"
#include "runtime/api/moe/activation.hpp"
#include "runtime/api/moe/gpu_tensors.hpp"
#include "runtime/api/planned_on_gpu.hpp"
#include "runtime/api/refuse.hpp"
#include "runtime/api/settings.hpp"
#include "runtime/api/versioned.hpp"
#include "runtime/images/loader.hpp"

namespace flashfit::api {
namespace {

/// The struct's size in its first version: no caller has a smaller one.
constexpr std::size_t kFirstSize = 88;
constexpr const char* kName = "moe.activation.backward";

using Args = flashfit_moe_activation_backward_args;

struct Tensors {
  Argument z, dh, choices, weights, dz, h, dweights;
};

bool is_given(const Argument& a) { return a.ndim != 0; }

Result<void> read_tensors(const Args& a, Tensors& t) {
  const struct {
    const char* name;
    const DLTensor* tensor;
    int ndim;
    const char* layout;
    bool needed;
    Argument& to;
  } all[] = {{"z", a.z, 2, "[rows, outputs]", true, t.z},
             {"dh", a.dh, 2, "[rows, features]", true, t.dh},
             {"choices", a.choices, 1, "[rows]", true, t.choices},
             {"topk_weights", a.topk_weights, 1, "[choices]", false, t.weights},
             {"dz", a.dz, 2, "[rows, outputs]", true, t.dz},
             {"h", a.h, 2, "[rows, features]", true, t.h},
             {"dtopk_weights", a.dtopk_weights, 1, "[choices]", false, t.dweights}};
  for (const auto& each : all) {
    if (!each.tensor && !each.needed) continue;
    if (auto ok = read_argument(each.name, each.tensor, each.ndim, each.layout, each.to); !ok) return ok;
    if (auto ok = check_on_gpu_of(t.z, each.to); !ok) return ok;
    if (!is_contiguous(each.to))
      return refuse("{}: strides are {}; accepted: contiguous", each.name, text(each.to.strides()));
    if (each.ndim == 2 && each.to.begin % 16 != 0)
      return refuse("{}: address {:#x}; accepted: a multiple of 16", each.name, each.to.begin);
  }
  return {};
}

Result<DType> check_dtypes(const Tensors& t) {
  auto dtype = half_dtype_of(t.z, {&t.dh, &t.dz, &t.h});
  if (!dtype) return dtype;
  if (!is_dtype(t.choices.dtype, kDLInt, 32))
    return refuse("choices: dtype is {}; accepted: int32", text(t.choices.dtype));
  for (const Argument* a : {&t.weights, &t.dweights})
    if (is_given(*a) && !is_dtype(a->dtype, kDLFloat, 32))
      return refuse("{}: dtype is {}; accepted: fp32", a->name, text(a->dtype));
  return dtype;
}

Result<void> check_shapes(const Tensors& t, bool gated) {
  const std::int64_t rows = t.dh.size[0], features = t.dh.size[1], outputs = features * (gated ? 2 : 1);
  if (features < 8 || features % 8 || features > kMaxSize / 2)
    return refuse("dh: shape is {}; accepted: features that are a multiple of 8", text(t.dh.shape()));
  auto ok = check_sizes(t.z, {rows, outputs});
  if (ok) ok = check_sizes(t.dz, {rows, outputs});
  if (ok) ok = check_sizes(t.h, {rows, features});
  if (ok) ok = check_sizes(t.choices, {rows});
  if (ok && is_given(t.weights)) ok = check_sizes(t.dweights, {t.weights.size[0]});
  return ok;
}

Result<void> check_memory(const Tensors& t) {
  const Argument* const all[] = {&t.z, &t.dh, &t.choices, &t.weights, &t.dz, &t.h, &t.dweights};
  for (const Argument* written : {&t.dz, &t.h, &t.dweights})
    for (const Argument* other : all) {
      if (other == written || (written == &t.h && other == &t.dh && t.h.begin == t.dh.begin)) continue;
      if (overlap(*written, *other)) return refuse_overlap(*written, *other);
    }
  return {};
}

Result<void> check_activation(const Args& a, ActivationGradientParams& p) {
  if (const std::uint32_t unknown = a.flags & ~(FLASHFIT_INTERLEAVED | FLASHFIT_PTX_ONLY))
    return refuse("flags: {:#x} is unknown; accepted: FLASHFIT_INTERLEAVED ({:#x}), FLASHFIT_PTX_ONLY ({:#x})", unknown,
                  FLASHFIT_INTERLEAVED, FLASHFIT_PTX_ONLY);
  const auto activation = activation_of(a.activation);
  if (!activation) return tl::unexpected(activation.error());
  p.activation = *activation;
  if (!std::isfinite(a.alpha) || !std::isfinite(a.shift))
    return refuse("{}: {}; accepted: finite numbers", std::isfinite(a.alpha) ? "shift" : "alpha",
                  std::isfinite(a.alpha) ? a.shift : a.alpha);
  if (!(a.limit >= 0)) return refuse("limit: {}; accepted: above 0, or 0 for none", a.limit);
  read_activation_numbers(a, p);
  p.interleaved = (a.flags & FLASHFIT_INTERLEAVED) != 0;
  return {};
}

Result<void> run(const Args& args) {
  ActivationGradientParams p{};
  Tensors t;
  auto ok = check_activation(args, p);
  if (ok) ok = read_tensors(args, t);
  if (!ok) return ok;
  const auto dtype = check_dtypes(t);
  if (!dtype) return tl::unexpected(dtype.error());
  ok = check_shapes(t, has_gate(p.activation));
  if (ok) ok = check_memory(t);
  if (ok) ok = check_enabled(kName, true);
  if (!ok) return ok;
  p.z = t.z.data, p.dh = t.dh.data, p.choices = static_cast<const int*>(t.choices.data);
  p.weights = static_cast<const float*>(t.weights.data);
  p.dz = t.dz.data, p.h = t.h.data, p.dweights = static_cast<float*>(t.dweights.data);
  p.rows = static_cast<int>(t.dh.size[0]), p.features = static_cast<int>(t.dh.size[1]);
  if (p.rows == 0) return {};
  const int device = t.z.device.device_id;
  const auto image = planned_on_gpu("z", device, [&](const Gpu& gpu, CudaVersion driver) {
    return plan_activation_gradient(*dtype, gpu, driver, carried_images(), (args.flags & FLASHFIT_PTX_ONLY) != 0);
  });
  if (!image) return tl::unexpected(image.error());
  const void* const arguments[] = {&p};
  return launch(activation_gradient_steps(**image, p).all(), arguments, device, args.stream);
}

}  // namespace

Result<void> moe_activation_backward(const flashfit_moe_activation_backward_args* caller_args) {
  const auto args = read_versioned(caller_args, kFirstSize);
  Result<void> done = args ? run(*args) : Result<void>(tl::unexpected(args.error()));
  log_refusal(kName, done);
  return done;
}

}  // namespace flashfit::api
