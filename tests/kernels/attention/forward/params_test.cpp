// Every field of the kernel's argument, each from a value of its own, so that no two can be swapped unseen.
#include "kernels/attention/forward/params.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace flashfit {
namespace {

/// A call whose pointers point into `memory`, four elements apart.
ForwardCall call_of(char* memory, bool variable_length) {
  ForwardCall c;
  c.problem = {.dtype = DType::kF16,
               .head_dim = 64,
               .head_dim_v = 48,
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
  EXPECT_EQ(p.head_dim, 64);
  EXPECT_EQ(p.head_dim_v, 48);
  EXPECT_EQ(p.batch, 3);
  EXPECT_EQ(p.heads.by, 12);
  EXPECT_EQ(p.group.by, 3);
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
  EXPECT_EQ(p.tiles.by, 3);
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

TEST(ForwardParams, PlainCallsAskForNothing) {
  char memory[16];
  const ForwardParams p = forward_params(call_of(memory, false), 9);
  EXPECT_EQ(p.window_left, -1);
  EXPECT_EQ(p.window_right, -1);
  EXPECT_EQ(p.splits, 1);
  EXPECT_EQ(p.partial_o, nullptr);
  EXPECT_EQ(p.partial_lse, nullptr);
  EXPECT_EQ(p.seqused_k, nullptr);
  EXPECT_EQ(p.sinks, nullptr);
  EXPECT_EQ(p.unaligned, 0);
  EXPECT_EQ(p.softcap, 0.f);
  EXPECT_EQ(p.alibi_slopes, nullptr);
  EXPECT_EQ(p.bias, nullptr);
  EXPECT_EQ(p.bias_kind, BiasKind::kNone);
}

TEST(ForwardParams, Options) {
  char memory[16];
  float sinks[1], slopes[1], bias[1], partial[2];
  const std::int32_t used[3] = {};
  ForwardCall call = call_of(memory, false);
  call.seqused_k = used;
  call.sinks = sinks;
  call.softcap = 30;
  call.alibi_slopes = slopes, call.alibi_batch_stride = 501;
  call.problem.bias = BiasKind::kF32;
  call.bias = bias;
  call.bias_batch_stride = 601, call.bias_head_stride = 602, call.bias_row_stride = 603, call.bias_key_stride = 604;
  const ForwardParams p = forward_params(call, 9, {.splits = 4, .tiles = 11, .o = partial, .lse = partial + 1});
  EXPECT_EQ(p.seqused_k, used);
  EXPECT_EQ(p.sinks, sinks);
  EXPECT_EQ(p.softcap, 30.f);
  EXPECT_EQ(p.alibi_slopes, slopes);
  EXPECT_EQ(p.alibi_batch, 501);
  EXPECT_EQ(p.bias_kind, BiasKind::kF32);
  EXPECT_EQ(p.bias, bias);
  EXPECT_EQ(p.bias_batch, 601);
  EXPECT_EQ(p.bias_head, 602);
  EXPECT_EQ(p.bias_row, 603);
  EXPECT_EQ(p.bias_key, 604);
  EXPECT_EQ(p.splits, 4);
  EXPECT_EQ(p.split_tiles, 11);
  EXPECT_EQ(p.partial_o, partial);
  EXPECT_EQ(p.partial_lse, partial + 1);
}

// The kernel adds limits to row numbers in 32 bits: one past all rows must not get there.
TEST(ForwardParams, WindowsPastAllRowsAreNone) {
  char memory[16];
  ForwardCall call = call_of(memory, false);  // 5 queries, 7 keys
  const auto limits = [&](std::int64_t left, std::int64_t right) {
    call.problem.window_left = left, call.problem.window_right = right;
    const ForwardParams p = forward_params(call, 9);
    return std::pair(p.window_left, p.window_right);
  };
  EXPECT_EQ(limits(0, 0), std::pair(0, 0));
  EXPECT_EQ(limits(6, 4), std::pair(6, 4));
  EXPECT_EQ(limits(7, 5), std::pair(-1, -1));
  EXPECT_EQ(limits(INT64_MAX, INT64_MAX), std::pair(-1, -1));
  EXPECT_EQ(limits((std::int64_t{1} << 32) + 2, (std::int64_t{1} << 32) + 2), std::pair(-1, -1));
  EXPECT_EQ(limits(-1, 3), std::pair(-1, 3));
  EXPECT_EQ(limits(3, -1), std::pair(3, -1));
}

TEST(ForwardParams, HeadDimsThatAreNoMultiplesOf8AreCopiedByElements) {
  char memory[16];
  const auto unaligned = [&](int head_dim, int head_dim_v, bool asked) {
    ForwardCall call = call_of(memory, false);
    call.problem.head_dim = head_dim, call.problem.head_dim_v = head_dim_v, call.problem.unaligned = asked;
    return forward_params(call, 9).unaligned;
  };
  EXPECT_EQ(unaligned(64, 48, false), 0);
  EXPECT_EQ(unaligned(64, 48, true), 1);
  EXPECT_EQ(unaligned(60, 48, false), 1);
  EXPECT_EQ(unaligned(64, 44, false), 1);
}

}  // namespace
}  // namespace flashfit
