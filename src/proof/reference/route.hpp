#pragma once
// The router in fp64, cases of it, and what may be wrong with a result.
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/moe/route/problem.hpp"

namespace flashfit::reference {

/// What a case's logits are besides random: what zero-mean noise hides.
enum class Logits : unsigned char {
  kNormal,
  kTies,      ///< of four values alone, -0 and 0 among them
  kEqual,     ///< all alike
  kShifted,   ///< 30 below 0, where a sum of exponentials that is not shifted back is 0
  kSteep,     ///< hundreds apart: all weights but the first are next to nothing
  kNan,       ///< some tokens have one
  kInfinite,  ///< some tokens have an infinity, and some nothing but -inf
  kHidden,    ///< -inf for most experts
  kTiny,      ///< so far below 0 that fp32 has their exponentials' roots, but not the exponentials
};

struct RouteCase {
  std::string name;
  RouteProblem problem;
  Logits logits = Logits::kNormal;
  std::int64_t gap = 0;  ///< poisoned elements after a token's logits
};

/// A case in memory: poison around and between what belongs to it.
struct RouteData {
  static constexpr std::int64_t kRedZone = 64;  ///< elements before and after

  RouteCase spec;
  std::vector<unsigned char> logits;
  std::vector<float> weights;
  std::vector<std::int32_t> ids;
  std::vector<float> bias;  ///< [experts] of a problem that is biased

  RouteCall call();
  std::size_t logits_bytes() const;   ///< from the first to the last logit
  std::size_t results_bytes() const;  ///< of weights, or of ids
};

/// Random numbers by their place, the same on every machine.
RouteData make_data(const RouteCase& spec);

/// What is wrong with the results, or "": ids as fp64 chooses them (by scores: any whose scores fp32 cannot tell
/// apart), weights within what fp32 must lose, nothing written around them.
std::string defect_of(const RouteData& data);

/// Cases for a kernel of up to `most` experts, of the routers over a softmax.
std::vector<RouteCase> route_cases(DType dtype, int most);

/// Cases of the routers whose scores see one expert alone, with and without bias, groups, division by the sum and a
/// scale.
std::vector<RouteCase> route_alone_cases(DType dtype, int most);

/// Of both lists, those that a kernel for GPUs takes.
std::vector<RouteCase> route_gpu_cases(DType dtype, int most);

}  // namespace flashfit::reference
