// The grouped product alone, where it adds up what it gives, under the emulator: to the bits of a launch of its own
// after it; and when it does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/every_image.hpp"
#include "kernels/moe/experts/rows_product_run.hpp"
#include "kernels/moe/experts/token_rows.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts.hpp"
#include "proof/emulated/steps.hpp"
#include "proof/reference/experts.hpp"
#include "proof/reference/tensors.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel, reference::Grid;

constexpr int kNone = -1;

/// Rows as a backward has them: each expert's behind one of no token, those of choices of no expert last. Of five
/// experts the second has no token, and every seventh choice has no expert. What is to be written holds NaN.
struct Data {
  RowsProduct problem;
  std::vector<int> offsets, places, choices;
  std::vector<float> weights;
  Grid tokens, a, w, out, sums;
  std::vector<int> counters;  ///< once it has run: ExpertsWorkspace::summing

  explicit Data(const RowsProduct& given)
      : problem(with_rows(given)),
        tokens(problem.dtype, 1, problem.tokens, problem.depth, 8),
        a(problem.dtype, 1, problem.rows, problem.depth),
        w(problem.dtype, problem.experts, problem.transposed ? problem.depth : problem.outputs,
          problem.transposed ? problem.outputs : problem.depth, 16),
        out(problem.dtype, 1, problem.rows, problem.outputs),
        sums(problem.dtype, 1, problem.tokens, problem.outputs, 8),
        counters(2 * kMostPhases) {
    const RowsProduct& p = problem;
    reference::Random random(static_cast<std::uint64_t>(p.rows));
    const int count = static_cast<int>(p.tokens) * p.top_k;
    std::vector<int> experts;
    for (int i = 0; i < count; ++i) {
      const int e = static_cast<int>(random.bits() % static_cast<std::uint64_t>(p.experts));
      experts.push_back(i % 7 == 3 ? kNone : e == 1 ? 0 : e);
      weights.push_back(static_cast<float>(random.normal()));
    }
    places.assign(static_cast<std::size_t>(count), -1);
    for (int e = 0; e < p.experts; ++e) {
      offsets.push_back(static_cast<int>(choices.size()));
      choices.push_back(-1);
      for (int i = 0; i < count; ++i)
        if (experts[static_cast<std::size_t>(i)] == e) {
          places[static_cast<std::size_t>(i)] = static_cast<int>(choices.size());
          choices.push_back(i);
        }
    }
    offsets.push_back(static_cast<int>(choices.size()));
    choices.resize(static_cast<std::size_t>(p.rows), -1);
    for (std::int64_t t = 0; t < p.tokens; ++t)
      for (int k = 0; k < p.depth; ++k) tokens.set(0, t, k, random.normal() + 0.5);
    for (std::int64_t e = 0; e < w.outer; ++e)
      for (std::int64_t i = 0; i < w.rows; ++i)
        for (std::int64_t k = 0; k < w.columns; ++k) w.set(e, i, k, random.normal() / std::sqrt(p.depth));
  }

  static RowsProduct with_rows(RowsProduct p) {
    p.rows = p.tokens * p.top_k + p.experts;
    return p;
  }

  int token_of(std::int64_t row) const {
    const int choice = choices[static_cast<std::size_t>(row)];
    return choice < 0 ? kNone : choice / problem.top_k;
  }

  /// What a launch before the product would do; rows of no token get 0.
  void gather() {
    for (std::int64_t r = 0; r < problem.rows; ++r)
      for (int k = 0; k < problem.depth; ++k)
        a.set(0, r, k, token_of(r) == kNone ? 0.0 : tokens.get(0, token_of(r), k));
  }

  bool poison_intact() const { return a.poison_intact() && out.poison_intact() && sums.poison_intact(); }
};

Result<emu::Stats> run(const EmulatedKernel& product, Data& data, int phase_columns, bool weighs,
                       const emu::Options& options) {
  emu::Memory memory;
  RowsProductCall call = product_of(data, memory);
  call.places = data.places.data();
  call.sums = data.sums.data();
  call.sums_row = data.sums.row_stride();
  if (weighs) {
    call.weights = data.weights.data();
    memory.read_only("weights", data.weights.data(), data.weights.size() * sizeof(float));
  }
  if (data.problem.sums) {
    memory.writable("sums", data.sums.data(), data.sums.size_in_bytes());
    memory.read_only("places", data.places.data(), data.places.size() * sizeof(int));
  }
  return run_rows_product(product, call, phase_columns, std::move(memory), options, &data.counters);
}

/// By launches of their own: the product of rows that are there, and the sum of what it gave.
void run_apart(const EmulatedKernel& product, Data& data, bool weighs) {
  const RowsProduct wanted = data.problem;
  data.gather();
  data.problem.sums = false;
  const auto ran = run(product, data, 0, false, {});
  ASSERT_TRUE(ran) << ran.error().message;
  data.problem = wanted;
  const EmulatedKernel& kernel = emulated::rows_kernel_for(product, emulated::emulated_experts_rows());
  emu::Memory memory;
  memory.read_only("places", data.places.data(), data.places.size() * sizeof(int));
  memory.read_only("weights", data.weights.data(), data.weights.size() * sizeof(float));
  memory.read_only("rows", data.out.data(), data.out.size_in_bytes());
  memory.writable("sums", data.sums.data(), data.sums.size_in_bytes());
  const TokenRowsCall call{
      .problem = {.dtype = wanted.dtype, .tokens = wanted.tokens, .top_k = wanted.top_k, .columns = wanted.outputs},
      .places = data.places.data(),
      .tokens = data.sums.data(),
      .tokens_row = data.sums.row_stride(),
      .rows = data.out.data(),
      .weights = weighs ? data.weights.data() : nullptr};
  const ExpertsRowsParams params = sum_params(call);
  const void* const all[] = {&params};
  const Image image = image_of(kernel);
  const auto added = emulated::run_steps(token_rows_steps(image, call.problem).all(), all, {&kernel, 1}, memory, {});
  ASSERT_TRUE(added) << added.error().message;
}

/// Both products' forms that a plan may take, each layout of weights that they do.
template <class Each>
void for_each_product(const Each& each) {
  int tried = 0;
  for (const EmulatedKernel& product : emulated::emulated_experts_products()) {
    const ExpertsProductConfig& c = config_of(product);
    if (c.keeps) continue;  // no plan takes it
    SCOPED_TRACE(product.variant.name);
    ++tried;
    ASSERT_NO_FATAL_FAILURE(each(product, c));
  }
  EXPECT_EQ(tried, 8 + 8);
}

/// The same numbers where they mean something: products of rows of no token may hold anything.
void expect_equal_rows(const Data& got, const Data& want) {
  for (std::int64_t r = 0; r < got.problem.rows; ++r) {
    if (got.token_of(r) == kNone) continue;
    for (int o = 0; o < got.problem.outputs; ++o) {
      const double is = got.out.get(0, r, o), was = want.out.get(0, r, o);
      ASSERT_TRUE(is == was || (std::isnan(is) && std::isnan(was))) << "out, row " << r << ": " << is << ' ' << was;
    }
  }
  EXPECT_EQ(got.sums.bytes, want.sums.bytes);
}

TEST(AddedUpRows, AreAddedUpToTheBitsOfALaunchAfterTheProduct) {
  for_each_product([](const EmulatedKernel& product, const ExpertsProductConfig& c) {
    const bool beside = experts_sums(c);
    for (const int top_k : {1, 3, 8}) {
      const RowsProduct problem{.dtype = c.dtype,
                                .experts = 5,
                                .depth = top_k == 3 ? c.depth + 8 : c.depth - 8,
                                .outputs = beside ? 4 * c.tile_columns + 24 : c.tile_columns + 24,
                                .transposed = c.transposed,
                                .sums = true,
                                .tokens = 41,
                                .top_k = top_k};
      const bool weighs = top_k == 3;
      Data apart(problem);
      ASSERT_NO_FATAL_FAILURE(run_apart(product, apart, weighs));
      for (const int columns : beside ? std::vector{0, 1, 2, 3} : std::vector{2}) {
        Data data(problem);
        data.gather();
        // Two slices a tile under random turns: warps that wait for a phase would ask more often than the emulator
        // bears.
        const emu::Options options = schedules()[top_k == 3 ? 0 : static_cast<std::size_t>(columns % 3)];
        const auto ran = run(product, data, columns, weighs, options);
        ASSERT_TRUE(ran) << columns << ": " << ran.error().message;
        ASSERT_NO_FATAL_FAILURE(expect_equal_rows(data, apart)) << top_k << ", phases of " << columns;
        EXPECT_TRUE(data.poison_intact());
        // Blocks run one after another here: the last one finds all phases complete, and its warps take units.
        for (int phase = 0; beside && columns > 0 && phase + 1 < (5 + columns - 1) / columns; ++phase)
          EXPECT_GE(data.counters[static_cast<std::size_t>(phase)], 2) << columns;
      }
    }
  });
}

TEST(AddedUpRows, OfNoRowsTheSumsAreZeros) {
  const EmulatedKernel& product = emulated::emulated_experts_products().front();
  Data data({.dtype = config_of(product).dtype,
             .experts = 2,
             .depth = 8,
             .outputs = 24,
             .sums = true,
             .tokens = 3,
             .top_k = 2});
  data.problem.rows = 0;
  std::ranges::fill(data.places, -1);
  const auto ran = run(product, data, 0, false, {});
  ASSERT_TRUE(ran) << ran.error().message;
  for (int t = 0; t < 3; ++t)
    for (int o = 0; o < 24; ++o) EXPECT_EQ(data.sums.get(0, t, o), 0.0);
  EXPECT_TRUE(data.poison_intact());
}

/// Qwen3-30B-A3B's sizes, and fewer tokens.
TEST(AddedUpRows, AreAddedUpBesideTheProductByALayersRule) {
  const auto images = test::every_image(catalogue(), [](const KernelVariant&) { return 128; });
  const auto plan_of = [&](const char* gpu, std::int64_t tokens, int depth) {
    const RowsProduct p{.dtype = DType::kBF16,
                        .rows = tokens * 8 + 128,
                        .experts = 128,
                        .depth = depth,
                        .outputs = 2048,
                        .sums = true,
                        .tokens = tokens,
                        .top_k = 8};
    const auto plan = plan_rows_product(p, find_gpu(gpu).value(), 0, images);
    EXPECT_TRUE(plan) << plan.error().message;
    return *plan;
  };
  const ExpertsPlan beside = plan_of("H100", 32768, 1536);
  EXPECT_EQ(beside.phase_columns, 2);
  ASSERT_EQ(beside.steps.size(), 3u);
  EXPECT_EQ(beside.steps[2].image, beside.rows);
  EXPECT_EQ(beside.steps[2].grid.x, 32768 / 4);  // eight warps have two tiles' outputs of four tokens
  EXPECT_TRUE(std::ranges::all_of(beside.steps.all(), &Step::dependent));
  EXPECT_EQ(plan_of("H100", 32768, 2304).phase_columns, 0);  // products that take long enough
  EXPECT_EQ(plan_of("H100", 4096, 1536).phase_columns, 0);
  EXPECT_EQ(plan_of("H100", 4096, 1536).steps.size(), 3u);
  EXPECT_EQ(plan_of("H100", 0, 1536).steps.size(), 2u);
  const ExpertsPlan apart = plan_of("L4", 32768, 1536);  // mma.sync's product adds up nothing
  EXPECT_EQ(apart.phase_columns, 0);
  ASSERT_EQ(apart.steps.size(), 3u);
  EXPECT_EQ(apart.steps[2].grid.x, 32768);
}

}  // namespace
}  // namespace flashfit::testing
