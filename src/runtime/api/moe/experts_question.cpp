#include "runtime/api/moe/experts_question.hpp"

#include <limits>

#include "kernels/moe/experts/explain.hpp"
#include "runtime/api/moe/activation.hpp"
#include "runtime/api/question.hpp"
#include "runtime/api/refuse.hpp"
#include "runtime/api/versioned.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::api {
namespace {

/// The struct's size in its first version: no caller has a smaller one.
constexpr std::size_t kFirstSize = 88;
constexpr std::uint32_t kKnownFlags =
    FLASHFIT_TRANSPOSED | FLASHFIT_INTERLEAVED | FLASHFIT_WEIGHT_ON_INPUT | FLASHFIT_KEEPING | FLASHFIT_PTX_ONLY;
constexpr std::int64_t kMostFeatures = 1 << 20;  ///< of hidden and of intermediate

using Args = flashfit_fused_moe_explain_args;

Result<void> check(const Args& a) {
  if (const std::uint32_t unknown = a.flags & ~kKnownFlags)
    return refuse(
        "flags: {:#x} is unknown; accepted: FLASHFIT_TRANSPOSED ({:#x}), FLASHFIT_INTERLEAVED ({:#x}), "
        "FLASHFIT_WEIGHT_ON_INPUT ({:#x}), FLASHFIT_KEEPING ({:#x}), FLASHFIT_PTX_ONLY ({:#x})",
        unknown, FLASHFIT_TRANSPOSED, FLASHFIT_INTERLEAVED, FLASHFIT_WEIGHT_ON_INPUT, FLASHFIT_KEEPING,
        FLASHFIT_PTX_ONLY);
  if (auto ok = check_numbers({{"experts", a.experts, 1, kMostExperts}, {"top_k", a.top_k, 1, kMostChosen}}); !ok)
    return ok;
  const std::int64_t most_tokens = std::numeric_limits<std::int32_t>::max() / a.top_k;
  if (auto ok = check_numbers({{"tokens", a.tokens, 0, most_tokens},
                               {"hidden", a.hidden, 1, kMostFeatures},
                               {"intermediate", a.intermediate, 1, kMostFeatures}});
      !ok)
    return ok;
  if (a.cuda_version < 0) return refuse("cuda_version: {}; accepted: 12090 for 12.9, or 0", a.cuda_version);
  if ((a.experts_low != 0 || a.experts_high != 0) &&
      (a.experts_low < 0 || a.experts_low >= a.experts_high || a.experts_high > a.experts))
    return refuse("experts_low: {}, experts_high: {}; accepted: 0 <= experts_low < experts_high <= {}, or both 0",
                  a.experts_low, a.experts_high, a.experts);
  const auto activation = activation_of(a.activation);
  if (!activation) return tl::unexpected(activation.error());
  if (!has_gate(*activation) && a.flags & FLASHFIT_INTERLEAVED)
    return refuse("flags: FLASHFIT_INTERLEAVED ({:#x}) with {}, which has no gate", FLASHFIT_INTERLEAVED,
                  name_of(*activation));
  return {};
}

/// As a call has it, which knows no expert behind the last that it owns.
ExpertsProblem problem_of(const Args& a, DType dtype) {
  ExpertsProblem p{.dtype = dtype,
                   .tokens = a.tokens,
                   .top_k = static_cast<int>(a.top_k),
                   .hidden = static_cast<int>(a.hidden),
                   .intermediate = static_cast<int>(a.intermediate),
                   .low = a.experts_low};
  p.high = p.experts = a.experts_high != 0 ? a.experts_high : static_cast<int>(a.experts);
  p.activation = static_cast<Activation>(a.activation);
  p.transposed = (a.flags & FLASHFIT_TRANSPOSED) != 0;
  if (a.flags & FLASHFIT_INTERLEAVED) p.gate_up = GateUp::kInterleaved;
  if (a.flags & FLASHFIT_WEIGHT_ON_INPUT) p.weight_on = WeightOn::kInput;
  p.keeps = (a.flags & FLASHFIT_KEEPING) != 0;
  return p;
}

}  // namespace

Result<std::string> experts_json(const Args* caller_args) {
  const auto args = read_versioned(caller_args, kFirstSize);
  if (!args) return tl::unexpected(args.error());
  const auto dtype = parse_dtype(args->dtype);
  if (!dtype) return tl::unexpected(dtype.error());
  if (auto ok = check(*args); !ok) return tl::unexpected(std::move(ok.error()));
  CudaVersion driver = args->cuda_version;
  const auto gpus = gpus_of(args->gpu, driver);
  if (!gpus) return tl::unexpected(gpus.error());
  const ExpertsProblem problem = problem_of(*args, *dtype);
  const PlanOptions options{args->variant ? args->variant : "", (args->flags & FLASHFIT_PTX_ONLY) != 0};
  JsonText json;
  json.begin_array();
  for (const Gpu& gpu : *gpus) {
    // A name that no GPU could take is a wrong argument, not a misfit.
    const auto plan = plan_experts(problem, gpu, driver, carried_images(), options);
    if (!plan && plan.error().code == Code::kInvalidArgument) return tl::unexpected(plan.error());
    write_explanation(json, plan, problem, gpu);
  }
  json.end_array();
  return json.take();
}

}  // namespace flashfit::api
