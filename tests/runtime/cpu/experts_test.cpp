// The CPU's experts, for every instruction set of this machine, against fp64.
#include "runtime/cpu/experts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "proof/reference/experts_backward.hpp"
#include "proof/reference/tensors.hpp"
#include "runtime/cpu/experts_backward.hpp"

namespace flashfit::cpu {
namespace {

using reference::ExpertsCase, reference::ExpertsData, reference::Grid;

ExpertsCase one_case(DType dtype, const ExpertsProblem& shape) {
  ExpertsCase spec{.name = "one", .problem = shape};
  spec.problem.dtype = dtype;
  spec.problem.high = spec.problem.high == 0 ? shape.experts : shape.high;
  return spec;
}

TEST(CpuExperts, AreRightOnAllCases) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32})
    for (const ExpertsCase& spec : reference::experts_cases(dtype)) {
      const ExpertsData fresh = reference::make_data(spec);
      const reference::ExpertsAnswer answer(fresh);
      for (const Kernel& kernel : kernels()) {
        ExpertsData data = fresh;
        ASSERT_TRUE(experts_on(data.call(), nullptr, kernel, 2).has_value());
        ASSERT_EQ(reference::defect_of(data, answer), "") << kernel.name << " " << name_of(dtype);
      }
    }
}

TEST(CpuExperts, NeitherThreadsNorTheBatchChangeABit) {
  const ExpertsCase spec = one_case(
      DType::kF32, {.tokens = 300, .experts = 4, .top_k = 2, .hidden = 88, .intermediate = 40, .bias13 = true});
  ExpertsData one = reference::make_data(spec), many = reference::make_data(spec);
  ASSERT_TRUE(experts_on(one.call(), nullptr, kernels().front(), 1).has_value());
  ASSERT_TRUE(experts_on(many.call(), nullptr, kernels().front(), 7).has_value());
  EXPECT_EQ(one.out.bytes, many.out.bytes);
  ExpertsCall alone = many.call();
  alone.problem.tokens = 1;
  for (const std::int64_t t : {0, 1, 150, 299}) {
    std::vector<float> row(88);
    alone.x = static_cast<const float*>(many.x.data()) + t * many.x.row_stride();
    alone.topk_ids = many.ids.data() + 2 * t, alone.topk_weights = many.weights.data() + 2 * t;
    alone.out = row.data(), alone.out_row = 88;
    ASSERT_TRUE(experts_on(alone, nullptr, kernels().front(), 1).has_value());
    const float* const together = static_cast<float*>(many.out.data()) + t * 88;
    EXPECT_EQ(row, std::vector<float>(together, together + 88)) << t;
  }
}

TEST(CpuExperts, LayoutsOfTheSameWeightsGiveTheSameBits) {
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    const ExpertsCase spec =
        one_case(dtype, {.tokens = 20, .experts = 3, .top_k = 2, .hidden = 56, .intermediate = 72});
    ExpertsData plain = reference::make_data(spec);
    ASSERT_TRUE(experts(plain.call()).has_value());
    for (const bool transposed : {false, true})
      for (const GateUp gate_up : {GateUp::kConcatenated, GateUp::kInterleaved}) {
        ExpertsCase other = spec;
        other.problem.transposed = transposed, other.problem.gate_up = gate_up;
        ExpertsData data = reference::make_data(other);
        data.x = plain.x, data.ids = plain.ids, data.weights = plain.weights;
        const auto set = [&](Grid& to, int e, std::int64_t output, std::int64_t input, double value) {
          transposed ? to.set(e, input, output, value) : to.set(e, output, input, value);
        };
        for (int e = 0; e < 3; ++e) {
          for (int row = 0; row < 144; ++row)
            for (int c = 0; c < 56; ++c)
              set(data.w13, e, gate_up == GateUp::kInterleaved ? row % 72 * 2 + row / 72 : row, c,
                  plain.w13.get(e, row, c));
          for (int c = 0; c < 56; ++c)
            for (int i = 0; i < 72; ++i) set(data.w2, e, c, i, plain.w2.get(e, c, i));
        }
        ASSERT_TRUE(experts(data.call()).has_value());
        EXPECT_EQ(data.out.bytes, plain.out.bytes) << transposed << static_cast<int>(gate_up);
      }
  }
}

TEST(CpuExperts, ASharedExpertIsOneMoreChoiceOfEveryToken) {
  for (const bool gated : {false, true}) {
    // A choice of expert 4 at rank 3 with a weight of 1 is what a shared expert adds.
    ExpertsCase spec =
        one_case(DType::kF32, {.tokens = 30, .experts = 5, .top_k = 3, .hidden = 48, .intermediate = 32, .high = 5});
    ExpertsData all = reference::make_data(spec);
    std::vector<float> gate(48);
    for (int i = 0; i < 48; ++i) gate[i] = static_cast<float>(all.w13.get(4, 0, i));
    std::vector<std::int32_t> two;
    std::vector<float> weights;
    for (int t = 0; t < 30; ++t) {
      double logit = 0;
      for (int i = 0; i < 48; ++i) logit += all.x.get(0, t, i) * gate[i];
      for (int k = 0; k < 2; ++k) {
        two.push_back(all.ids[3 * t + k] %= 4);
        weights.push_back(all.weights[3 * t + k]);
      }
      all.ids[3 * t + 2] = 4;
      all.weights[3 * t + 2] = gated ? static_cast<float>(1 / (1 + std::exp(-logit))) : 1.0f;
    }
    ASSERT_TRUE(experts(all.call()).has_value());
    EXPECT_EQ(reference::defect_of(all), "");
    Grid out(DType::kF32, 1, 30, 48);
    ExpertsCall routed = all.call();
    routed.problem.top_k = 2, routed.problem.experts = routed.problem.high = 4;
    routed.topk_ids = two.data(), routed.topk_weights = weights.data(), routed.out = out.data();
    SharedExpert shared{.call = all.call(), .gate = gated ? gate.data() : nullptr};
    shared.call.problem.experts = shared.call.problem.top_k = shared.call.problem.high = 1;
    shared.call.w13 = static_cast<const float*>(shared.call.w13) + 4 * shared.call.w13_expert;
    shared.call.w2 = static_cast<const float*>(shared.call.w2) + 4 * shared.call.w2_expert;
    ASSERT_TRUE(experts(routed, &shared).has_value());
    EXPECT_EQ(out.bytes, all.out.bytes) << gated;
  }
}

TEST(CpuExperts, GroupsAreTheExpertsOfTheirRows) {
  // Rows before the first group, between none, and past the last one give 0; expert 1 has none.
  const std::int32_t offsets[] = {3, 20, 20, 50};
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    const ExpertsCase spec = one_case(
        dtype,
        {.tokens = 60, .experts = 3, .top_k = 1, .hidden = 40, .intermediate = 24, .bias13 = true, .bias2 = true});
    ExpertsData data = reference::make_data(spec), chosen = reference::make_data(spec);
    for (int r = 0; r < 60; ++r) {
      chosen.ids[r] = r < 3 || r >= 50 ? -1 : r < 20 ? 0 : 2;
      chosen.weights[r] = 1;
    }
    ASSERT_TRUE(grouped_mlp(data.call(), offsets).has_value());
    ASSERT_TRUE(experts(chosen.call()).has_value());
    EXPECT_EQ(reference::defect_of(chosen), "");
    EXPECT_EQ(data.out.bytes, chosen.out.bytes);
  }
}

/// Gradients in memory, poison around and between what belongs to them.
struct Gradients {
  Grid dout, dx, dw13, dw2, db13, db2;
  std::vector<float> dweights;

  explicit Gradients(const ExpertsData& data) : dweights(data.weights.size(), -7) {
    const ExpertsProblem& p = data.spec.problem;
    const auto like = [&](const Grid& g) { return Grid(g.dtype, g.outer, g.rows, g.columns, g.gap); };
    dout = like(data.out), dx = like(data.x), dw13 = like(data.w13), dw2 = like(data.w2);
    db13 = Grid(p.dtype, p.owned(), 1, p.first_outputs()), db2 = Grid(p.dtype, p.owned(), 1, p.hidden);
    reference::Random random(7);
    for (std::int64_t t = 0; t < p.tokens; ++t)
      for (int c = 0; c < p.hidden; ++c) dout.set(0, t, c, random.normal());
  }
  ExpertsGradients call() {
    return {.dx = dx.data(),
            .dx_row = dx.row_stride(),
            .dw13 = dw13.data(),
            .dw13_expert = dw13.outer_stride(),
            .dw13_row = dw13.row_stride(),
            .dw2 = dw2.data(),
            .dw2_expert = dw2.outer_stride(),
            .dw2_row = dw2.row_stride(),
            .db13 = db13.data(),
            .db13_expert = db13.outer_stride(),
            .db2 = db2.data(),
            .db2_expert = db2.outer_stride(),
            .dweights = dweights.data()};
  }
};

std::vector<double> values(const Grid& grid, bool turned) {
  std::vector<double> all;
  for (std::int64_t e = 0; e < grid.outer; ++e)
    for (std::int64_t r = 0; r < (turned ? grid.columns : grid.rows); ++r)
      for (std::int64_t c = 0; c < (turned ? grid.rows : grid.columns); ++c)
        all.push_back(turned ? grid.get(e, c, r) : grid.get(e, r, c));
  return all;
}

TEST(CpuExperts, GradientsAreRightOnAllCases) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32})
    for (const ExpertsCase& spec : reference::experts_cases(dtype)) {
      if (spec.inputs == reference::ExpertInputs::kNanTokens || spec.inputs == reference::ExpertInputs::kNanExpert)
        continue;  // what they reach is NaN: nothing is left to compare
      ExpertsData data = reference::make_data(spec);
      const Gradients fresh(data);
      const auto want = reference::expected_gradients(data, fresh.dout);
      const auto naive = reference::naive_gradients(data, fresh.dout);
      for (const Kernel& kernel : kernels()) {
        Gradients g = fresh;
        ASSERT_TRUE(
            experts_backward_on(data.call(), g.dout.data(), g.dout.row_stride(), g.call(), kernel, 2).has_value());
        const bool turned = spec.problem.transposed;
        const auto check = [&](const char* name, const std::vector<double>& got, const std::vector<double>& its,
                               const std::vector<double>& fair, DType of, double size = 0) {
          ASSERT_EQ(reference::defect_of_gradient(name, got, its, fair, of, size), "")
              << spec.name << " " << kernel.name << " " << name_of(dtype);
        };
        check("dx", values(g.dx, false), want.dx, naive.dx, dtype);
        check("dw13", values(g.dw13, turned), want.dw13, naive.dw13, dtype);
        check("dw2", values(g.dw2, turned), want.dw2, naive.dw2, dtype);
        check("db13", values(g.db13, false), want.db13, naive.db13, dtype);
        check("db2", values(g.db2, false), want.db2, naive.db2, dtype);
        check("dweights", {g.dweights.begin(), g.dweights.end()}, want.dweights, naive.dweights, DType::kF32,
              want.dweight_size);
        for (const Grid* grid : {&g.dx, &g.dw13, &g.dw2, &g.db13, &g.db2})
          ASSERT_TRUE(grid->poison_intact()) << spec.name;
      }
    }
}

TEST(CpuExperts, ThreadsChangeNoBitOfGradients) {
  const ExpertsData data = reference::make_data(one_case(
      DType::kF32, {.tokens = 200, .experts = 4, .top_k = 2, .hidden = 56, .intermediate = 40, .bias13 = true}));
  Gradients one(data), many(data);
  ExpertsData mine = data;
  ASSERT_TRUE(experts_backward_on(mine.call(), one.dout.data(), 56, one.call(), kernels().front(), 1).has_value());
  ASSERT_TRUE(experts_backward_on(mine.call(), many.dout.data(), 56, many.call(), kernels().front(), 7).has_value());
  for (const auto& [a, b] : {std::pair{&one.dx, &many.dx}, {&one.dw13, &many.dw13}, {&one.dw2, &many.dw2}})
    EXPECT_EQ(a->bytes, b->bytes);
  EXPECT_EQ(one.dweights, many.dweights);
}

}  // namespace
}  // namespace flashfit::cpu
