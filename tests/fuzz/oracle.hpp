#pragma once
// What flashfit.h says of a call, written apart from src/runtime/api: 128-bit arithmetic for whatever may overflow, and
// element by element where src/runtime/api reasons about strides.
#include <string>
#include <vector>

#include "arena.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::fuzz {

struct Expected {
  enum Verdict {
    kRefused,  ///< FLASHFIT_INVALID_ARGUMENT, and no tensor's memory is looked at but cu_seqlens
    kAccepted  ///< sound: computed on the CPU, or brought before the plan
  };
  Verdict verdict = kRefused;
  std::string why;       ///< for kRefused: the rule, for the reader of a finding
  bool callable = true;  ///< false: what the call says of its memory is not so, and flashfit could not know
  bool on_gpu = false;
  int device = 0;
  double work = 0;  ///< multiply-adds, if accepted
  bool writes = false;
  std::vector<Range> memory;   ///< of every tensor with elements, first to last element
  std::vector<Range> written;  ///< each row of out's elements, and lse; weights and ids
};

/// `args` may be NULL or hold anything; the memory of tensors is not read, but that of cu_seqlens where `readable` says
/// that it may be.
Expected expected_of(const flashfit_attention_args* args, const Arena& readable);
Expected expected_of(const flashfit_moe_route_args* args, const Arena& readable);

}  // namespace flashfit::fuzz
