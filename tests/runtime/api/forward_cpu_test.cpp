// Calls on the CPU against the fp64 reference, at most twice the error of the same computation in the same dtype.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "proof/reference/attention.hpp"
#include "tensors.hpp"

namespace flashfit::test {
namespace {

reference::View view(const Tensor& t, bool ragged) {
  const std::int64_t* s = t.dl.strides;
  if (ragged) return {t.dl.data, 0, s[0], s[1], s[2]};
  return {t.dl.data, s[0], s[1], s[2], s[3]};
}

reference::Problem problem(Call& c, DType dtype) {
  const bool ragged = c.cu_q != nullptr;
  const auto &q = c.q->shape(), &k = c.k->shape();
  const std::size_t heads = q.size() - 2;
  reference::Problem p{
      dtype, q[heads], k[heads], q[heads + 1], (c.args.flags & FLASHFIT_CAUSAL) != 0, c.args.softmax_scale, {}};
  if (p.softmax_scale == 0) p.softmax_scale = 1 / std::sqrt(static_cast<double>(p.head_dim));
  if (ragged) {
    for (std::int64_t b = 0; b + 1 < c.cu_q->shape()[0]; ++b) {
      const int *cq = c.cu_q->as<int>() + b, *ck = c.cu_k->as<int>() + b;
      p.sequences.push_back({cq[0], ck[0], cq[1] - cq[0], ck[1] - ck[0]});
    }
  } else {
    p.sequences.assign(static_cast<std::size_t>(q[0]), {0, 0, q[1], k[1]});
  }
  return p;
}

/// Runs the call and holds out and lse to the reference.
void expect_right(Call& c, DType dtype) {
  ASSERT_EQ(c.run(), FLASHFIT_OK) << flashfit_last_error();
  for (Tensor* t : c.tensors()) EXPECT_TRUE(t->red_zones_intact());
  const bool ragged = c.cu_q != nullptr;
  const reference::Problem p = problem(c, dtype);
  const auto views = {view(*c.q, ragged), view(*c.k, ragged), view(*c.v, ragged)};
  const reference::View* v = views.begin();
  const reference::Output want = reference::attention(p, v[0], v[1], v[2]),
                          fair = reference::naive_same_dtype(p, v[0], v[1], v[2]);
  double error = 0, bound = 0, lse_error = 0;
  std::size_t at = 0, row = 0;
  for (std::size_t b = 0; b < p.sequences.size(); ++b) {
    for (std::int64_t i = 0; i < p.sequences[b].q_len; ++i) {
      for (std::int64_t h = 0; h < p.heads_q; ++h, ++row) {
        const std::int64_t token = p.sequences[b].q_row + i, batch = static_cast<std::int64_t>(b);
        const double lse = !c.args.lse ? want.lse[row]
                           : ragged    ? c.lse->at(DType::kF32, {h, token})
                                       : c.lse->at(DType::kF32, {batch, h, i});
        if (std::isinf(want.lse[row])) {
          EXPECT_EQ(lse, want.lse[row]);
        } else {
          lse_error = std::max(lse_error, std::abs(lse - want.lse[row]));
        }
        for (std::int64_t d = 0; d < p.head_dim; ++d, ++at) {
          const double got = ragged ? c.out->at(dtype, {token, h, d}) : c.out->at(dtype, {batch, i, h, d});
          error = std::max(error, std::abs(got - want.out[at]));
          bound = std::max(bound, std::abs(fair.out[at] - want.out[at]));
        }
      }
    }
  }
  EXPECT_LE(error, 2 * bound);
  EXPECT_LE(lse_error, 1e-5);
}

class OnCpu : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Dtypes, OnCpu, testing::Values(DType::kF16, DType::kBF16, DType::kF32),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(OnCpu, Dense) {
  Call c = Call::dense(GetParam(), 2, 33, 70, 6, 2, 40);
  expect_right(c, GetParam());
}

TEST_P(OnCpu, CausalWithFewerQueriesThanKeys) {
  Call c = Call::dense(GetParam(), 2, 17, 50, 4, 4, 64);
  c.args.flags = FLASHFIT_CAUSAL;
  expect_right(c, GetParam());
}

TEST_P(OnCpu, CausalWithQueriesThatSeeNothing) {
  Call c = Call::dense(GetParam(), 1, 50, 17, 2, 1, 32);
  c.args.flags = FLASHFIT_CAUSAL;
  expect_right(c, GetParam());
  EXPECT_EQ(c.out->at(GetParam(), {0, 0, 0, 0}), 0);
  EXPECT_EQ(c.lse->at(DType::kF32, {0, 1, 32}), -INFINITY);
}

TEST_P(OnCpu, VariableLengthWithEmptySequences) {
  for (const std::uint32_t flags : {0u, FLASHFIT_CAUSAL}) {
    Call c = Call::ragged({0, 5, 5, 45, 46}, {0, 9, 12, 40, 40}, GetParam(), 4, 2, 32);
    c.args.flags = flags;
    expect_right(c, GetParam());
  }
}

TEST_P(OnCpu, ScaleAndNoLse) {
  Call c = Call::dense(GetParam(), 1, 20, 20, 2, 2, 32);
  c.args.softmax_scale = 0.5f;
  c.args.lse = nullptr;
  expect_right(c, GetParam());
  EXPECT_TRUE(c.lse->untouched());
}

TEST_P(OnCpu, StridesOfEveryKind) {
  const DType t = GetParam();
  Call c = Call::dense(t, 2, 9, 11, 4, 2, 16);
  c.q = std::make_unique<Tensor>(std::vector<std::int64_t>{2, 9, 4, 16}, dl_dtype(t),
                                 std::vector<std::int64_t>{4 * 9 * 20, 20, 9 * 20, 1});
  c.k = std::make_unique<Tensor>(std::vector<std::int64_t>{2, 11, 2, 16}, dl_dtype(t),
                                 std::vector<std::int64_t>{0, 16, 0, 1});
  c.out = std::make_unique<Tensor>(std::vector<std::int64_t>{2, 9, 4, 16}, dl_dtype(t),
                                   std::vector<std::int64_t>{18, 2 * 18 * 4, 2 * 18, 1});
  c.q->fill_normal(t, 5), c.k->fill_normal(t, 6);
  c.args.q = &c.q->dl, c.args.k = &c.k->dl, c.args.out = &c.out->dl;
  expect_right(c, t);
}

TEST_P(OnCpu, ByteOffset) {
  Call c = Call::dense(GetParam(), 1, 4, 6, 1, 1, 16);
  c.q->dl.data = c.q->as<char>() - 48;
  c.q->dl.byte_offset = 48;
  ASSERT_EQ(c.run(), FLASHFIT_OK) << flashfit_last_error();
  Call d = Call::dense(GetParam(), 1, 4, 6, 1, 1, 16);
  ASSERT_EQ(d.run(), FLASHFIT_OK);
  EXPECT_EQ(std::memcmp(c.out->as<char>(), d.out->as<char>(), d.out->bytes()), 0);
}

TEST(OnCpuEmpty, NoKeysGiveZeroAndMinusInfinity) {
  Call c = Call::dense(DType::kF16, 2, 3, 0, 4, 2, 8);
  c.k->dl.data = c.v->dl.data = nullptr;
  ASSERT_EQ(c.run(), FLASHFIT_OK) << flashfit_last_error();
  for (std::size_t i = 0; i < c.out->bytes(); ++i) ASSERT_EQ(c.out->as<char>()[i], 0);
  for (std::size_t i = 0; i < c.lse->bytes() / 4; ++i) ASSERT_EQ(c.lse->as<float>()[i], -INFINITY);
}

TEST(OnCpuEmpty, NothingToWrite) {
  for (auto [batch, rows, heads] : {std::tuple{0, 3, 4}, {2, 0, 4}, {2, 3, 0}}) {
    Call c = Call::dense(DType::kF16, batch, rows, 5, heads, heads, 8);
    for (Tensor* t : {c.q.get(), c.out.get(), c.lse.get()}) t->dl.data = nullptr;
    EXPECT_EQ(c.run(), FLASHFIT_OK) << flashfit_last_error();
  }
  Call none = Call::ragged({0}, {0});
  EXPECT_EQ(none.run(), FLASHFIT_OK) << flashfit_last_error();
  Call empty = Call::ragged({0, 0, 0}, {0, 4, 4});
  EXPECT_EQ(empty.run(), FLASHFIT_OK) << flashfit_last_error();
}

TEST(OnCpuThreads, FailuresAreTheThreadsOwn) {
  Call bad = Call::dense();
  bad.args.softmax_scale = -1;
  ASSERT_EQ(bad.run(), FLASHFIT_INVALID_ARGUMENT);
  std::thread([] {
    EXPECT_STREQ(flashfit_last_error(), "");
    Call good = Call::dense();
    EXPECT_EQ(good.run(), FLASHFIT_OK);
    Call worse = Call::dense();
    worse.args.q = nullptr;
    EXPECT_EQ(worse.run(), FLASHFIT_INVALID_ARGUMENT);
  }).join();
  EXPECT_THAT(flashfit_last_error(), testing::StartsWith("softmax_scale: -1"));
}

TEST(OnCpuThreads, CallsFromManyThreadsAreBitForBitTheSame) {
  Call first = Call::dense(DType::kBF16, 2, 65, 130, 4, 2, 64);
  ASSERT_EQ(first.run(), FLASHFIT_OK);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&first] {
      for (int n = 0; n < 5; ++n) {
        Call c = Call::dense(DType::kBF16, 2, 65, 130, 4, 2, 64);
        ASSERT_EQ(c.run(), FLASHFIT_OK);
        ASSERT_EQ(std::memcmp(c.out->as<char>(), first.out->as<char>(), first.out->bytes()), 0);
      }
    });
  }
  for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace flashfit::test
