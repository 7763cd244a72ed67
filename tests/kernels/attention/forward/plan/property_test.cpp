// What must hold for any problem, GPU, driver and set of images.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/gpu/occupancy.hpp"
#include "kernels/attention/forward/plan/catalogue.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "kernels/attention/forward/plan/problems.hpp"

namespace flashfit {
namespace {

struct World {
  ForwardProblem problem;
  Gpu gpu;
  CudaVersion driver;
  std::vector<Image> images;
};

template <class T>
T pick(std::mt19937& random, std::initializer_list<T> from) {
  return from.begin()[random() % from.size()];
}

World random_world(std::mt19937& random) {
  const auto all = test::full_catalogue();
  World w;
  test::Sizes s{.dtype = pick(random, {DType::kF16, DType::kBF16, DType::kF16, DType::kF32}),
                .head_dim = pick(random, {32, 64, 128, 64, 128, 96, 40, 60, 192, 256, 512}),
                .head_dim_v = pick(random, {0, 0, 0, 128}),
                .batch = pick<std::int64_t>(random, {0, 1, 2, 7, 64, 100000}),
                .heads = pick<std::int64_t>(random, {1, 8, 12, 40, 5000}),
                .queries = pick<std::int64_t>(random, {0, 1, 63, 64, 65, 512, 2048, 100000, 1 << 30}),
                .keys = pick<std::int64_t>(random, {0, 1, 127, 4096}),
                .causal = random() % 2 == 0};
  w.problem = random() % 2 ? test::dense(s) : test::ragged(s);
  w.problem.window_left = pick(random, {-1, -1, 0, 1000});
  w.problem.window_right = pick(random, {-1, -1, 0, 1000});
  w.problem.softcap = random() % 8 == 0;
  w.problem.alibi = random() % 8 == 0;
  w.problem.bias = random() % 8 == 0 ? BiasKind::kVisible : BiasKind::kNone;
  w.problem.bias_by_element = w.problem.bias != BiasKind::kNone && random() % 2 == 0;
  w.problem.unaligned = random() % 8 == 0;
  w.problem.used_keys = random() % 8 == 0;
  w.problem.batch_invariant = random() % 4 == 0;
  w.gpu = gpu_table()[random() % gpu_table().size()];
  if (random() % 4 == 0) {  // a GPU that is not in the table
    w.gpu.shared_bytes_block = 1024 * static_cast<int>(random() % 228);
    w.gpu.threads_sm = pick(random, {256, 1024, 2048});
    w.gpu.registers_sm = pick(random, {16384, 65536});
    w.gpu.sms = 1 + static_cast<int>(random() % 200);
  }
  w.driver = pick(random, {0, 11080, 12020, 12080, 12090, 13000});
  const unsigned keep = random() % 4;
  for (const Image& i : all)
    if (random() % 4 <= keep) w.images.push_back(i);
  return w;
}

TEST(AnyPlan, FitsWhatItWasMadeFor) {
  std::mt19937 random(1);
  int plans = 0;
  for (int round = 0; round < 20000; ++round) {
    const World w = random_world(random);
    const auto plan = plan_forward(w.problem, w.gpu, w.driver, w.images);
    if (!plan) {
      EXPECT_EQ(plan.error().code, Code::kMisfit);
      EXPECT_FALSE(plan.error().message.empty());
      EXPECT_EQ(plan.error().message.find('\n'), std::string::npos);
      continue;
    }
    ++plans;
    const ForwardConfig& c = plan->variant->config;
    EXPECT_EQ(c.dtype, w.problem.dtype);
    EXPECT_GE(c.head_dim, w.problem.head_dim);
    EXPECT_GE(c.head_dim_v, w.problem.head_dim_v);
    EXPECT_TRUE(c.kind == ForwardKind::kGeneral || (!w.problem.softcap && !w.problem.unaligned));
    EXPECT_TRUE(c.kind != ForwardKind::kPlain || !w.problem.alibi);
    EXPECT_TRUE(c.kind == ForwardKind::kGeneral || c.kind == ForwardKind::kBias || w.problem.bias == BiasKind::kNone);
    EXPECT_TRUE(c.kind != ForwardKind::kBias || !w.problem.bias_by_element);
    EXPECT_TRUE(&plan->image() >= w.images.data() && &plan->image() < w.images.data() + w.images.size());
    EXPECT_EQ(&forward_variant_of(plan->kernel_variant()), plan->variant);
    EXPECT_TRUE(runs_on(plan->image().target, w.gpu.cc));
    EXPECT_TRUE(plan->image().target.kind == Target::Kind::kSass ? driver_loads_sass(w.driver)
                                                                 : driver_compiles_ptx(w.driver));
    EXPECT_EQ(plan->kernel_variant().shared_bytes, shared_bytes_of(c));
    EXPECT_LE(plan->kernel_variant().shared_bytes, w.gpu.shared_bytes_block);
    EXPECT_EQ(plan->kernel_variant().threads, forward_threads(c));
    EXPECT_LE(plan->kernel_variant().threads, kMaxThreadsPerBlock);
    EXPECT_LE(plan->registers, kMaxRegistersPerThread);
    EXPECT_GE(plan->model.blocks_per_sm, 1);
    EXPECT_LE(plan->model.blocks_per_sm * plan->kernel_variant().threads, w.gpu.threads_sm);
    EXPECT_LE(plan->model.blocks_per_sm * plan->kernel_variant().threads * plan->registers, w.gpu.registers_sm);
    EXPECT_LE(plan->model.blocks_per_sm * plan->kernel_variant().shared_bytes, w.gpu.shared_bytes_sm);
    EXPECT_FALSE(takes_heads(c) &&
                 (w.problem.variable_length || w.problem.used_keys || w.problem.window_left >= 0 || c.packs));
    const std::int64_t tiles = plan->slots * (w.problem.heads_q / plan->pack);
    const std::int64_t of_part = std::max(w.gpu.sms * plan->model.blocks_per_sm / plan->splits, 1);
    EXPECT_EQ(plan->grid(), c.engine == ForwardEngine::kWgmma ? std::min(tiles, of_part) : tiles);
    EXPECT_LE(plan->grid(), kMaxGrid);
    EXPECT_EQ(plan->grid() == 0, w.problem.total_q == 0);
    EXPECT_GE(plan->model.microseconds, 0);
    EXPECT_FALSE(reason_for(*plan, w.gpu, w.driver, w.images).empty());
  }
  EXPECT_GT(plans, 3000);
}

TEST(AnyPlan, MoreImagesNeverTakeItAwayNorSlowItOnTheSameKindOfRow) {
  std::mt19937 random(2);
  const auto all = test::full_catalogue();
  for (int round = 0; round < 5000; ++round) {
    const World w = random_world(random);
    const auto few = plan_forward(w.problem, w.gpu, w.driver, w.images),
               many = plan_forward(w.problem, w.gpu, w.driver, all);
    if (!few) continue;
    ASSERT_TRUE(many) << many.error().message;
    EXPECT_LE(few->image().target.kind == Target::Kind::kSass, many->image().target.kind == Target::Kind::kSass);
    // A variant that pads less comes before a faster one.
    if (few->image().target.kind == Target::Kind::kSass &&
        few->variant->config.head_dim == many->variant->config.head_dim &&
        few->variant->config.head_dim_v == many->variant->config.head_dim_v &&
        few->variant->config.kind == many->variant->config.kind) {
      EXPECT_LE(many->model.microseconds, few->model.microseconds);
    }
  }
}

TEST(AnyPlan, DoesNotDependOnTheOrderOfImages) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    World w = random_world(random);
    const auto once = plan_forward(w.problem, w.gpu, w.driver, w.images),
               again = plan_forward(w.problem, w.gpu, w.driver, w.images);
    ASSERT_EQ(once.has_value(), again.has_value());
    if (once) {
      EXPECT_EQ(&once->image(), &again->image());
    }
    std::vector<Image> shuffled = w.images;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    // Those of an operation lie together.
    std::ranges::stable_partition(
        shuffled, [](const Image& i) { return std::string_view(i.variant->family->operation) == kForwardOperation; });
    const auto other = plan_forward(w.problem, w.gpu, w.driver, shuffled);
    ASSERT_EQ(once.has_value(), other.has_value());
    if (!once) {
      EXPECT_EQ(once.error().message, other.error().message);
    } else {
      EXPECT_EQ(once->image().target, other->image().target);
      EXPECT_EQ(once->variant->config.block_m, other->variant->config.block_m);
      EXPECT_EQ(once->model.microseconds, other->model.microseconds);
    }
  }
}

TEST(AnyPlan, PrefersExactMachineCodeThenOlderMinorsThenNewerPtx) {
  const ForwardVariant& variant = forward_variants()[2];
  const KernelVariant kernel = kernel_variant_of(variant);
  const auto target_on = [&](const char* gpu, std::initializer_list<Target> targets) {
    std::vector<Image> images;
    for (const Target& t : targets) images.push_back(test::synthetic_image(kernel, t));
    const auto plan = plan_forward(test::dense({.dtype = variant.config.dtype, .head_dim = variant.config.head_dim}),
                                   find_gpu(gpu).value(), 0, images);
    return plan ? plan->image().target.str() : plan.error().message;
  };
  constexpr Target k80{80, Target::Kind::kSass}, k86{86, Target::Kind::kSass}, k89{89, Target::Kind::kSass},
      p75{75, Target::Kind::kPtx}, p80{80, Target::Kind::kPtx};
  EXPECT_EQ(target_on("L4", {k80, k86, k89, p80}), "8.9");
  EXPECT_EQ(target_on("L4", {p80, k86, k80}), "8.6");
  EXPECT_EQ(target_on("L4", {p80, k80}), "8.0");
  EXPECT_EQ(target_on("H100", {k80, p75, p80, k89}), "8.0+PTX");
  EXPECT_EQ(target_on("Orin", {k80, k86, p80}), "8.0+PTX");
}

}  // namespace
}  // namespace flashfit
