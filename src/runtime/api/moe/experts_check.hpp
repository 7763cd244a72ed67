#pragma once
// The arguments of a layer of experts: read, and held to the rules of flashfit.h.
#include <span>
#include <string>
#include <vector>

#include "core/launch/choice.hpp"
#include "flashfit/flashfit.h"
#include "kernels/moe/experts/call.hpp"
#include "kernels/moe/route/problem.hpp"
#include "runtime/api/argument.hpp"
#include "runtime/cpu/experts.hpp"

namespace flashfit::api {

/// How rows of x find their experts.
enum class Finding : unsigned char { kIds, kLogits, kOffsets };

/// All tensors of a call; one that is not given has ndim 0.
struct ExpertsTensors {
  Argument x, w13, w2, out, ids, weights, logits, offsets, b13, b2, bias, map, shared_w13, shared_w2, shared_gate, z;

  std::vector<const Argument*> given() const;
};

struct CheckedExperts {
  Finding finding = Finding::kIds;
  /// topk_ids and topk_weights are nullptr where they come of logits; with offsets problem.top_k is 1. With a map its
  /// experts are those that are owned, as ids are to be read through the map.
  ExpertsCall call;
  RouteCall route;                        ///< where they come of logits: all but weights and ids
  const std::int32_t* offsets = nullptr;  ///< [owned + 1]
  std::span<const std::int32_t> map;      ///< of each id the place of its weights; empty: there is none
  bool foreign_ids = false;               ///< ids out of range add 0, on the CPU too
  bool has_shared = false;
  cpu::SharedExpert shared;
  ExpertsTensors tensors;
  bool on_gpu = false;
  int device = 0;  ///< CUDA device index; 0 on the CPU
  flashfit_stream stream = nullptr;
  PlanOptions options;
  void* workspace = nullptr;
  std::uint64_t workspace_bytes = 0;
};

/// Every rule of flashfit.h but those of the workspace. `out`: what messages call out. reads_out: it is read, as dout
/// is, and may lie where other inputs do.
Result<CheckedExperts> check_experts(const flashfit_fused_moe_args* args, const char* out = "out",
                                     bool reads_out = false);

/// Ids by value: `checked` is a call of the CPU's memory whose ids are given, without a part or a map of experts.
Result<void> check_ids(const CheckedExperts& checked);

/// "bf16 experts of 2048 x 768, 8 of 128 a token".
std::string describe(const CheckedExperts& checked);

}  // namespace flashfit::api
