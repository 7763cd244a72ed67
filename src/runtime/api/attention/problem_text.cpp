#include "runtime/api/attention/problem_text.hpp"

#include <fmt/format.h>

namespace flashfit::api {
namespace {

std::string window_text(const ForwardProblem& p) {
  if (p.window_left < 0 && p.window_right < 0) return {};
  if (p.window_left < 0) return fmt::format(", window {} right", p.window_right);
  if (p.window_right < 0) return fmt::format(", window {} left", p.window_left);
  return fmt::format(", window {} left and {} right", p.window_left, p.window_right);
}

std::string bias_text(const ForwardProblem& p) {
  switch (p.bias) {
    case BiasKind::kNone:
      break;
    case BiasKind::kVisible:
      return ", bool bias";
    case BiasKind::kLikeQ:
      return fmt::format(", {} bias", name_of(p.dtype));
    case BiasKind::kF32:
      return ", fp32 bias";
  }
  return {};
}

}  // namespace

std::string options_text(const ForwardProblem& p) {
  return fmt::format("{}{}{}{}{}{}{}{}{}", window_text(p), p.softcap ? ", softcap" : "", p.alibi ? ", ALiBi" : "",
                     p.sinks ? ", sinks" : "", bias_text(p), p.bias_by_element ? " of single elements" : "",
                     p.unaligned ? ", unaligned" : "", p.no_tensor_maps ? ", strides that TMA refuses" : "",
                     p.batch_invariant ? ", batch invariant" : "");
}

}  // namespace flashfit::api
