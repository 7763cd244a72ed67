// Every field of the kernel's argument, each from a value of its own, so that no two can be swapped unseen.
#include "attention/params.hpp"

#include <gtest/gtest.h>

namespace flashfit {
namespace {

/// A call whose pointers point into `memory`, four elements apart.
ForwardCall call_of(char* memory, bool variable_length) {
  ForwardCall c;
  c.problem = {.dtype = DType::kF16,
               .head_dim = 64,
               .batch = 3,
               .heads_q = 12,
               .heads_kv = 4,
               .seqlen_q = 5,
               .seqlen_k = 7,
               .total_q = 15,
               .total_k = 21,
               .causal = variable_length,
               .variable_length = variable_length};
  c.q = {memory, 101, 102, 103};
  c.k = {memory + 4, 201, 202, 203};
  c.v = {memory + 8, 301, 302, 303};
  c.o = {memory + 12, 401, 402, 403};
  c.softmax_scale = 0.25f;
  return c;
}

void expect_tensors(const ForwardParams& p, const char* memory) {
  EXPECT_EQ(p.q, memory);
  EXPECT_EQ(p.k, memory + 4);
  EXPECT_EQ(p.v, memory + 8);
  EXPECT_EQ(p.o, memory + 12);
  const long long strides[] = {p.q_batch, p.q_row, p.q_head, p.k_batch, p.k_row, p.k_head,
                               p.v_batch, p.v_row, p.v_head, p.o_batch, p.o_row, p.o_head};
  const long long want[] = {101, 102, 103, 201, 202, 203, 301, 302, 303, 401, 402, 403};
  for (int i = 0; i < 12; ++i) EXPECT_EQ(strides[i], want[i]) << "stride " << i;
  EXPECT_EQ(p.batch, 3);
  EXPECT_EQ(p.heads, 12);
  EXPECT_EQ(p.group, 3);
  EXPECT_EQ(p.slots, 9);
  EXPECT_EQ(p.softmax_scale, 0.25f);
}

TEST(ForwardParams, Dense) {
  char memory[16];
  float lse;
  ForwardCall call = call_of(memory, false);
  call.lse = &lse;
  const ForwardParams p = forward_params(call, 9);
  expect_tensors(p, memory);
  EXPECT_EQ(p.seqlen_q, 5);
  EXPECT_EQ(p.seqlen_k, 7);
  EXPECT_EQ(p.lse, &lse);
  EXPECT_EQ(p.lse_batch, 12 * 5);
  EXPECT_EQ(p.lse_head, 5);
  EXPECT_EQ(p.cu_seqlens_q, nullptr);
  EXPECT_EQ(p.cu_seqlens_k, nullptr);
  EXPECT_EQ(p.causal, 0);
}

TEST(ForwardParams, VariableLengthCountsAllRows) {
  char memory[16];
  const std::int32_t offsets_q[4] = {}, offsets_k[4] = {};
  ForwardCall call = call_of(memory, true);
  call.cu_seqlens_q = offsets_q;
  call.cu_seqlens_k = offsets_k;
  const ForwardParams p = forward_params(call, 9);
  expect_tensors(p, memory);
  EXPECT_EQ(p.seqlen_q, 15);
  EXPECT_EQ(p.seqlen_k, 21);
  EXPECT_EQ(p.lse, nullptr);
  EXPECT_EQ(p.lse_batch, 0);
  EXPECT_EQ(p.lse_head, 15);
  EXPECT_EQ(p.cu_seqlens_q, offsets_q);
  EXPECT_EQ(p.cu_seqlens_k, offsets_k);
  EXPECT_EQ(p.causal, 1);
}

}  // namespace
}  // namespace flashfit
