// What the list of cases does not reach: threads, NaN in keys that nobody may see, odd memory, lack of memory.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <thread>
#include <utility>

#include "proof/reference/cases.hpp"
#include "runtime/cpu/attention.hpp"
#include "runtime/cpu/forward.hpp"
#include "runtime/cpu/kernel.hpp"

namespace {
std::atomic<bool> g_refuse_memory{false};
}

// The only over-aligned allocation of a call is its scratch.
void* operator new[](std::size_t size, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  void* const p = g_refuse_memory ? nullptr : std::aligned_alloc(align, (size + align - 1) / align * align);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }

namespace flashfit::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ForwardCase big_case(DType dtype) {
  ForwardCase c;
  c.name = "big";
  c.dtype = dtype;
  c.heads_q = 4, c.heads_kv = 2;
  c.seqlens_q = {300, 0, 41, 150}, c.seqlens_k = {310, 7, 200, 149};
  c.variable_length = c.causal = true;
  return c;
}

TEST(CpuAttention, SameBitsWhateverTheThreads) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    for (const cpu::Kernel& kernel : cpu::kernels()) {
      ForwardData one = make_data(big_case(dtype));
      ASSERT_TRUE(cpu::attention_forward_on(one.call(), kernel, 1).has_value());
      for (const int threads : {2, 3, 7, 64}) {
        ForwardData many = make_data(big_case(dtype));
        ASSERT_TRUE(cpu::attention_forward_on(many.call(), kernel, threads).has_value());
        EXPECT_EQ(one.out.storage->bytes, many.out.storage->bytes) << kernel.name << " " << threads;
        EXPECT_EQ(0, std::memcmp(one.lse.data(), many.lse.data(), one.lse.size() * sizeof(float)))
            << kernel.name << " " << threads;
      }
    }
  }
}

TEST(CpuAttention, CallersAtTheSameTime) {
  ForwardData expected = make_data(big_case(DType::kF16));
  ASSERT_TRUE(cpu::attention_forward_on(expected.call(), cpu::kernels().front(), 1).has_value());
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 8; ++i) {
        ForwardData mine = make_data(big_case(DType::kF16));
        const bool ok = cpu::attention_forward_on(mine.call(), cpu::kernels().front(), 3).has_value();
        if (!ok || mine.out.storage->bytes != expected.out.storage->bytes) ++wrong;
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

/// NaN and infinity in every key and value from row `from` on must leave rows that do not see them as they are without.
TEST(CpuAttention, NanStaysInTheRowsThatSeeIt) {
  for (const cpu::Kernel& kernel : cpu::kernels()) {
    for (const std::int64_t from : {1, 40, 64, 100}) {
      ForwardCase c;
      c.name = "nan";
      c.dtype = DType::kF32;
      c.causal = true;
      c.heads_q = 2;
      c.seqlens_q = {130}, c.seqlens_k = {130};
      ForwardData clean = make_data(c), dirty = make_data(c);
      for (std::int64_t row = from; row < 130; ++row) {
        for (std::int64_t d = 0; d < c.head_dim; ++d) {
          dirty.k.set(0, row, 0, d, row % 3 == 0 ? kInfinity : std::nan(""));
          dirty.v.set(0, row, 0, d, row % 2 == 0 ? -kInfinity : std::nan(""));
        }
      }
      ASSERT_TRUE(cpu::attention_forward_on(clean.call(), kernel, 1).has_value());
      ASSERT_TRUE(cpu::attention_forward_on(dirty.call(), kernel, 1).has_value());
      for (std::int64_t row = 0; row < 130; ++row) {
        for (std::int64_t h = 0; h < 2; ++h) {
          for (std::int64_t d = 0; d < c.head_dim; ++d) {
            if (row < from) {
              ASSERT_EQ(dirty.out.get(0, row, h, d), clean.out.get(0, row, h, d))
                  << kernel.name << " row " << row << " from " << from;
            } else {
              ASSERT_TRUE(std::isnan(dirty.out.get(0, row, h, d))) << kernel.name << " row " << row << " from " << from;
            }
          }
          if (row < from) {
            ASSERT_EQ(dirty.lse_at(0, row, h), clean.lse_at(0, row, h));
          }
        }
      }
    }
  }
}

TEST(CpuAttention, NanQueryStaysInItsRow) {
  for (const cpu::Kernel& kernel : cpu::kernels()) {
    ForwardCase c;
    c.name = "nan_query";
    c.seqlens_q = {50}, c.seqlens_k = {70};
    ForwardData clean = make_data(c), dirty = make_data(c);
    dirty.q.set(0, 17, 0, 3, NAN);
    ASSERT_TRUE(cpu::attention_forward_on(clean.call(), kernel, 1).has_value());
    ASSERT_TRUE(cpu::attention_forward_on(dirty.call(), kernel, 1).has_value());
    for (std::int64_t row = 0; row < 50; ++row) {
      for (std::int64_t d = 0; d < c.head_dim; ++d) {
        if (row == 17) {
          ASSERT_TRUE(std::isnan(dirty.out.get(0, row, 0, d))) << kernel.name;
        } else {
          ASSERT_EQ(dirty.out.get(0, row, 0, d), clean.out.get(0, row, 0, d)) << kernel.name << " row " << row;
        }
      }
    }
    EXPECT_TRUE(std::isnan(dirty.lse_at(0, 17, 0)));
  }
}

TEST(CpuAttention, NeighbouringSequencesDoNotLeak) {
  ForwardCase c;
  c.name = "neighbours";
  c.seqlens_q = {30, 30}, c.seqlens_k = {45, 45};
  c.variable_length = true;
  ForwardData clean = make_data(c), dirty = make_data(c);
  for (std::int64_t row = 45; row < 90; ++row) {
    for (std::int64_t d = 0; d < c.head_dim; ++d) dirty.k.set(0, row, 0, d, NAN), dirty.v.set(0, row, 0, d, NAN);
  }
  for (const cpu::Kernel& kernel : cpu::kernels()) {
    ASSERT_TRUE(cpu::attention_forward_on(clean.call(), kernel, 2).has_value());
    ASSERT_TRUE(cpu::attention_forward_on(dirty.call(), kernel, 2).has_value());
    for (std::int64_t row = 0; row < 30; ++row) {
      for (std::int64_t d = 0; d < c.head_dim; ++d)
        ASSERT_EQ(dirty.out.get(0, row, 0, d), clean.out.get(0, row, 0, d)) << kernel.name;
    }
  }
}

/// Keys whose scores are -inf (q is +inf there, k negative) weigh nothing, also when a whole block of keys is of them.
TEST(CpuAttention, InfinitelyLowScoresWeighNothing) {
  for (const cpu::Kernel& kernel : cpu::kernels()) {
    ForwardCase c;
    c.name = "low";
    c.dtype = DType::kF32;
    c.head_dim = 2;
    c.seqlens_q = {1}, c.seqlens_k = {150};
    c.softmax_scale = 1;
    ForwardData data = make_data(c);
    data.q.set(0, 0, 0, 0, 1), data.q.set(0, 0, 0, 1, 1);
    for (std::int64_t row = 0; row < 150; ++row) {
      data.k.set(0, row, 0, 0, row == 149 ? 1 : -kInfinity), data.k.set(0, row, 0, 1, 0);
    }
    ASSERT_TRUE(cpu::attention_forward_on(data.call(), kernel, 1).has_value());
    EXPECT_EQ(data.out.get(0, 0, 0, 0), data.v.get(0, 149, 0, 0)) << kernel.name;
    EXPECT_EQ(data.lse_at(0, 0, 0), 1) << kernel.name;
  }
}

/// A bias that is NaN makes NaN of its row, and hides no key: not beside -inf, in its row or in another one, either.
TEST(CpuAttention, ANanBiasHidesNoKey) {
  for (const cpu::Kernel& kernel : cpu::kernels()) {
    for (const std::int64_t hidden_row : {-1, 0, 1, 40}) {
      ForwardCase c;
      c.name = "nan_bias";
      c.dtype = DType::kF32;
      c.seqlens_q = {70}, c.seqlens_k = {90};
      c.options.bias = {.kind = BiasKind::kF32, .holes = false};
      ForwardData data = make_data(c);
      const auto set_bias = [&](std::int64_t row, std::int64_t key, double bias) {
        const auto value = static_cast<float>(bias);
        const std::int64_t at = row * data.options.bias.row_stride + key * data.options.bias.key_stride;
        std::memcpy(data.options.bias.bytes.data() + at * 4, &value, 4);
      };
      set_bias(0, 33, std::nan(""));
      if (hidden_row >= 0) set_bias(hidden_row, 50, -kInfinity);
      ASSERT_TRUE(cpu::attention_forward_on(data.call(), kernel, 1).has_value());
      for (std::int64_t row = 0; row < 70; ++row)
        ASSERT_EQ(std::isnan(data.out.get(0, row, 0, 0)), row == 0)
            << kernel.name << " row " << row << " hidden " << hidden_row;
    }
  }
}

TEST(CpuAttention, AnyAlignmentAndEveryRowTheSame) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    ForwardCase c;
    c.name = "odd";
    c.dtype = dtype;
    c.head_dim = 37;
    c.seqlens_q = c.seqlens_k = {60};
    ForwardData data = make_data(c);
    // Rows 41 elements apart, from an odd element on; all keys are one row, all queries one head's row.
    const auto storage = std::make_shared<Storage>(dtype, 60 * 41 + 2 * Tensor::kRedZone + 1);
    data.v = Tensor(storage, Tensor::kRedZone + 1, 1, 60, 1, 37, 0, 41, 0);
    Random random(5);
    data.v.fill_normal(random);
    data.k.row_stride = 0, data.q.row_stride = 0;
    const Expected expected = expect(data);
    for (const cpu::Kernel& kernel : cpu::kernels()) {
      ASSERT_TRUE(cpu::attention_forward_on(data.call(), kernel, 2).has_value());
      const Verdict verdict = check(data, expected);
      EXPECT_TRUE(verdict.ok) << kernel.name << ": " << verdict.message;
    }
  }
}

TEST(CpuAttention, WideHeads) {
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    ForwardCase c;
    c.name = "wide";
    c.dtype = dtype;
    c.head_dim = 513;
    c.seqlens_q = {101}, c.seqlens_k = {130};
    c.causal = true;
    ForwardData data = make_data(c);
    const Expected expected = expect(data);
    for (const cpu::Kernel& kernel : cpu::kernels()) {
      ASSERT_TRUE(cpu::attention_forward_on(data.call(), kernel, 2).has_value());
      const Verdict verdict = check(data, expected);
      EXPECT_TRUE(verdict.ok) << kernel.name << ": " << verdict.message;
    }
  }
}

TEST(CpuAttention, NoHeadsIsNoWork) {
  ForwardCase c;
  c.name = "no_heads";
  c.seqlens_q = c.seqlens_k = {20};
  for (const auto& [heads_q, heads_kv] : {std::pair{0, 1}, {0, 0}, {1, 0}}) {
    ForwardData data = make_data(c);
    const std::vector<unsigned char> before = data.out.storage->bytes;
    ForwardCall call = data.call();
    call.problem.heads_q = heads_q, call.problem.heads_kv = heads_kv;
    ASSERT_TRUE(cpu::attention_forward(call).has_value());
    EXPECT_EQ(data.out.storage->bytes, before);
  }
}

/// A later block of keys must leave an infinite sum as it is.
TEST(CpuAttention, InfiniteValueGivesInfinity) {
  for (const cpu::Kernel& kernel : cpu::kernels()) {
    ForwardCase c;
    c.name = "infinite_value";
    c.dtype = DType::kF32;
    c.seqlens_q = {3}, c.seqlens_k = {300};
    ForwardData data = make_data(c);
    data.v.set(0, 5, 0, 2, kInfinity);
    ASSERT_TRUE(cpu::attention_forward_on(data.call(), kernel, 1).has_value());
    const Verdict verdict = check(data, expect(data));
    EXPECT_TRUE(verdict.ok) << kernel.name << ": " << verdict.message;
    EXPECT_EQ(data.out.get(0, 1, 0, 2), kInfinity) << kernel.name;
  }
}

TEST(CpuAttention, LackOfMemoryIsAnErrorAndNothingIsWritten) {
  ForwardCase c;
  c.name = "memory";
  c.seqlens_q = c.seqlens_k = {20};
  ForwardData data = make_data(c);
  const std::vector<unsigned char> before = data.out.storage->bytes;
  g_refuse_memory = true;
  const Result<void> result = cpu::attention_forward(data.call());
  g_refuse_memory = false;
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kOutOfMemory);
  EXPECT_EQ(data.out.storage->bytes, before);
}

}  // namespace
}  // namespace flashfit::testing
