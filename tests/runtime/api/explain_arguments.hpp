#pragma once
// The question that tests of explanations bend.
#include "flashfit/flashfit.h"

namespace flashfit::test {

inline flashfit_explain_args arguments(const char* gpu) {
  flashfit_explain_args a{};
  a.struct_size = sizeof a;
  a.gpu = gpu;
  a.dtype = "fp16";
  a.batch = 2, a.seqlen_q = a.seqlen_k = 512, a.heads_q = a.heads_kv = 8, a.head_dim = 64;
  return a;
}

}  // namespace flashfit::test
