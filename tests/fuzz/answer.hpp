#pragma once
// One call of the C API and what every answer of it must keep to.
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "flashfit/flashfit.h"

namespace flashfit::fuzz {

struct Answer {
  flashfit_status status;
  std::string message;
  bool operator==(const Answer&) const = default;
};

[[noreturn]] inline void finding(std::string_view what, const Answer& answer) {
  std::cerr << "finding: " << what << "\n  status " << answer.status << ", message \"" << answer.message << "\"\n";
  std::abort();
}

/// The arguments' names as flashfit.h has them.
inline bool names_an_argument(std::string_view message) {
  constexpr std::string_view kNames[] = {"args",
                                         "flags",
                                         "q",
                                         "k",
                                         "v",
                                         "out",
                                         "lse",
                                         "cu_seqlens_q",
                                         "cu_seqlens_k",
                                         "softmax_scale",
                                         "window_left",
                                         "window_right",
                                         "softcap",
                                         "alibi_slopes",
                                         "sinks",
                                         "bias",
                                         "seqused_k",
                                         "head_dim_v",
                                         "variant",
                                         "gpu",
                                         "dtype",
                                         "batch",
                                         "seqlen_q",
                                         "seqlen_k",
                                         "heads_q",
                                         "heads_kv",
                                         "head_dim",
                                         "json",
                                         "cuda_version",
                                         "stream",
                                         "workspace",
                                         "bytes",
                                         "plans",
                                         "capacity",
                                         "plans[0]",
                                         "block_m",
                                         "block_n",
                                         "warps",
                                         "stages",
                                         "total_q",
                                         "total_k",
                                         "count",
                                         "logits",
                                         "weights",
                                         "ids",
                                         "tokens",
                                         "experts",
                                         "top_k",
                                         "hidden",
                                         "intermediate",
                                         "experts_low",
                                         "activation",
                                         "router_bias",
                                         "groups",
                                         "groups_kept",
                                         "scale"};
  const std::string_view name = message.substr(0, message.find_first_of(": '"));
  for (const std::string_view known : kNames)
    if (name == known) return true;
  return false;
}

/// Calls `function`, holds the answer to the rules that every function shares, and returns it.
template <class Function>
Answer ask(Function function) {
  constexpr std::string_view kEarlier = "json: NULL; accepted: where to put the document's address";
  if (flashfit_images_json(nullptr) != FLASHFIT_INVALID_ARGUMENT || flashfit_last_error() != kEarlier)
    finding("a refusal without its message", {FLASHFIT_OK, flashfit_last_error()});
  const flashfit_status status = function();
  const Answer answer{status, flashfit_last_error()};
  if (status < FLASHFIT_OK || status >= FLASHFIT_INTERNAL) finding("a status that no caller can cause", answer);
  if (status == FLASHFIT_OK) {
    if (answer.message != kEarlier) finding("success changed the last failure's message", answer);
    return answer;
  }
  if (answer.message.empty()) finding("a failure without a message", answer);
  for (const char c : answer.message)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) finding("a message of more than one plain line", answer);
  if (status == FLASHFIT_INVALID_ARGUMENT && !names_an_argument(answer.message))
    finding("a refusal that names no argument", answer);
  return answer;
}

}  // namespace flashfit::fuzz
