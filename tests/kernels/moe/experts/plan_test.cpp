// The experts' plan: pure, so that every GPU of the table is tried.
#include "kernels/moe/experts/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/every_image.hpp"
#include "kernels/moe/experts/order.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr;

std::vector<Image> images() {
  return test::every_image(catalogue(), [](const KernelVariant&) { return 128; });
}

/// Qwen3-30B-A3B.
ExpertsProblem problem(std::int64_t tokens, DType dtype = DType::kBF16) {
  return {.dtype = dtype,
          .tokens = tokens,
          .experts = 128,
          .top_k = 8,
          .hidden = 2048,
          .intermediate = 768,
          .low = 0,
          .high = 128};
}

const ExpertsProductConfig& config_of(const ExpertsPlan& plan) {
  return experts_product_variant_of(*plan.product->variant).config;
}

TEST(ExpertsPlan, FitsEveryGpuOfTheTable) {
  const auto carried = images();
  for (const Gpu& gpu : gpu_table())
    for (const DType dtype : {DType::kF16, DType::kBF16}) {
      const auto plan = plan_experts(problem(100, dtype), gpu, 0, carried);
      if (gpu.cc < (dtype == DType::kF16 ? ComputeCapability{7, 5} : ComputeCapability{8, 0})) {
        ASSERT_FALSE(plan) << gpu.name;
        EXPECT_EQ(plan.error().code, Code::kMisfit);
        EXPECT_THAT(plan.error().message, HasSubstr("is older than every image of "));
        continue;
      }
      ASSERT_TRUE(plan) << gpu.name << ": " << plan.error().message;
      EXPECT_EQ(plan->rows->variant->name, std::string("experts_rows_") + name_of(dtype));
      EXPECT_EQ(config_of(*plan).dtype, dtype);
      EXPECT_LE(plan->product->variant->shared_bytes, gpu.shared_bytes_block) << gpu.name;
    }
}

TEST(ExpertsPlan, TakesSmallTilesForFewRowsAnExpert) {
  const auto carried = images();
  for (const char* const name : {"A100", "L4", "RTX 5090"}) {
    const Gpu gpu = find_gpu(name).value();
    for (const std::int64_t tokens : {1, 8, 64, 128})
      EXPECT_EQ(config_of(*plan_experts(problem(tokens), gpu, 0, carried)).tile_rows, 16) << name << ' ' << tokens;
    for (const std::int64_t tokens : {2048, 32768})
      EXPECT_EQ(config_of(*plan_experts(problem(tokens), gpu, 0, carried)).tile_rows, 128) << name << ' ' << tokens;
  }
}

TEST(ExpertsPlan, TakesWgmmaOnHopperFromSomeRowsOfAnExpertOn) {
  const auto carried = images();
  for (const char* const name : {"H100", "H200"}) {
    const Gpu gpu = find_gpu(name).value();
    // Few tokens read weights alone.
    for (const std::int64_t tokens : {1, 2, 8, 64})
      EXPECT_EQ(config_of(*plan_experts(problem(tokens), gpu, 0, carried)).tile_rows, 16) << name << ' ' << tokens;
    for (const std::int64_t tokens : {256, 512, 4096, 32768}) {
      const auto plan = plan_experts(problem(tokens), gpu, 0, carried);
      EXPECT_EQ(config_of(*plan).engine, ExpertsEngine::kWgmma) << name << ' ' << tokens;
      EXPECT_EQ(plan->product->target.str(), "9.0a");
    }
  }
}

/// GPT-OSS-20B: 2,880 features are 22.5 tiles of 128, 30 of 96; as many outputs 11.25 of 256, 15 of 192.
ExpertsProblem of_2880(std::int64_t tokens) {
  ExpertsProblem p = problem(tokens);
  p.experts = p.high = 32, p.top_k = 4, p.hidden = p.intermediate = 2880;
  return p;
}

TEST(ExpertsPlan, TakesThreeWarpgroupsWhereTilesOfTwoHaveTooManyOutputs) {
  const auto carried = images();
  const Gpu gpu = find_gpu("H100").value();
  const auto groups = [&](const ExpertsProblem& p) {
    return experts_product_groups(config_of(*plan_experts(p, gpu, 0, carried)));
  };
  EXPECT_EQ(groups(of_2880(32768)), 3);
  EXPECT_EQ(groups(of_2880(4096)), 3);
  EXPECT_EQ(groups(of_2880(2048)), 2);  // 256 rows an expert
  EXPECT_EQ(groups(problem(32768)), 2);
  ExpertsProblem p = of_2880(32768);
  p.keeps = true;
  EXPECT_EQ(groups(p), 2);
  p.keeps = false, p.transposed = true;
  EXPECT_EQ(groups(p), 2);
  p.gate_up = GateUp::kInterleaved;  // as GPT-OSS has them
  EXPECT_EQ(groups(p), 3);
  p.gate_up = GateUp::kConcatenated, p.activation = Activation::kSilu;
  EXPECT_EQ(groups(p), 3);
  p = of_2880(32768);
  p.hidden = 2816;  // 11 tiles of 256: tiles of two warpgroups have 0.7 % more weights than those of three
  EXPECT_EQ(groups(p), 2);
  p.hidden = 2688, p.intermediate = 1856, p.activation = Activation::kRelu2;  // 14 tiles of 192; two add up sums
  EXPECT_EQ(groups(p), 2);
  p = of_2880(32768);
  const auto named = plan_experts(p, gpu, 0, carried, {.variant = "experts_wgmma_bf16_144x256x64_w1x8_s4_b1"});
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(experts_product_groups(config_of(*named)), 2);
}

/// What was faster on an H100 (docs/moe-kernels.md, "The product"); and where the last wave of one block an SM would be
/// nearly empty, tiles of which an SM takes two.
TEST(ExpertsPlan, TakesWideTilesOverMmaForManyRowsOnHopper) {
  auto carried = images();
  std::erase_if(carried, [](const Image& image) { return image.variant->family == &kExpertsWgmmaFamily; });
  const auto columns = [&](const char* gpu, ExpertsProblem p) {
    const ExpertsProductConfig c = config_of(*plan_experts(p, find_gpu(gpu).value(), 0, carried));
    EXPECT_EQ(c.tile_rows, 128);
    return c.tile_columns;
  };
  ExpertsProblem mixtral = problem(16384), deepseek = problem(8192);
  mixtral.experts = mixtral.high = 8, mixtral.top_k = 2, mixtral.hidden = 4096, mixtral.intermediate = 14336;
  deepseek.experts = deepseek.high = 256, deepseek.hidden = 7168;
  deepseek.intermediate = 2048;
  for (const ExpertsProblem& p : {problem(32768), mixtral, deepseek}) {
    EXPECT_EQ(columns("H100", p), 256);
    EXPECT_EQ(columns("A100", p), 128);
  }
  ExpertsProblem short_products = problem(65536);
  short_products.intermediate = 128;
  EXPECT_EQ(columns("H100", short_products), 128);
  ExpertsProblem last_wave = problem(4096);  // of 192 wide tiles, on 132 SMs
  last_wave.experts = last_wave.high = 8, last_wave.top_k = 1;
  EXPECT_EQ(columns("H100", last_wave), 128);
}

/// What was faster on an H100 (docs/moe-kernels.md, "Few tokens").
TEST(ExpertsPlan, TakesDeepRingsForOneTokenWhereThereIsRoom) {
  const auto carried = images();
  const auto stages = [&](const char* gpu, int experts, int top_k, int hidden, int intermediate) {
    const ExpertsProblem p{.tokens = 1,
                           .experts = experts,
                           .top_k = top_k,
                           .hidden = hidden,
                           .intermediate = intermediate,
                           .low = 0,
                           .high = experts};
    const ExpertsProductConfig c = config_of(*plan_experts(p, find_gpu(gpu).value(), 0, carried));
    EXPECT_EQ(c.engine, ExpertsEngine::kMma);
    return c.stages;
  };
  EXPECT_EQ(stages("H100", 128, 8, 2048, 768), 8);  // Qwen3-30B-A3B
  EXPECT_EQ(stages("H100", 64, 8, 2048, 1024), 8);  // OLMoE-1B-7B
  EXPECT_EQ(stages("H100", 8, 2, 4096, 14336), 8);  // Mixtral-8x7B
  EXPECT_EQ(stages("H100", 32, 4, 2880, 2880), 8);  // GPT-OSS-20B
  EXPECT_EQ(stages("A100", 128, 8, 2048, 768), 4);
}

TEST(ExpertsPlan, TakesTransposedWeightsByAFormOfTheirOwnOverWgmma) {
  const auto carried = images();
  const Gpu gpu = find_gpu("H200").value();
  for (const GateUp gate_up : {GateUp::kConcatenated, GateUp::kInterleaved})
    for (const bool keeps : {false, true})
      for (const bool transposed : {false, true}) {
        ExpertsProblem p = problem(4096);
        p.gate_up = gate_up, p.keeps = keeps, p.transposed = transposed;
        const auto plan = plan_experts(p, gpu, 0, carried);
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_EQ(plan->product->variant->name, std::string("experts_wgmma_bf16_144x256x64_w1x8_s4_b1") +
                                                    (transposed ? "_t" : "") + (keeps ? "_z" : ""));
      }
  ExpertsProblem few = problem(1);
  few.transposed = true;
  EXPECT_EQ(config_of(*plan_experts(few, gpu, 0, carried)).engine, ExpertsEngine::kMma);
}

/// The maps of the first product's weights, innermost first: of all layouts, what a box of 64 x 64 is cut from.
TEST(ExpertsPlan, MapsOfWeightsAreOfTheirLayout) {
  const auto carried = images();
  static std::vector<TensorMapSpec> specs;
  const auto weights = [&](GateUp gate_up, bool transposed) {
    ExpertsProblem p = problem(1000);
    p.gate_up = gate_up, p.transposed = transposed;
    ExpertsCall call;
    call.problem = p;
    call.w13_row = transposed ? 2 * p.intermediate : p.hidden;
    call.w13_expert = 2LL * p.intermediate * p.hidden;
    specs.clear();
    ExpertsArguments arguments;
    const auto plan = plan_experts(p, find_gpu("H100").value(), 0, carried);
    EXPECT_TRUE(arguments.set(*plan, call, [](const TensorMapSpec& spec) -> Result<TensorMap> {
      specs.push_back(spec);
      return TensorMap{};
    }));
    return specs.at(0);
  };
  constexpr uint64 kExpert = 2ULL * 1536 * 2048;  // bytes
  TensorMapSpec spec = weights(GateUp::kConcatenated, false);
  EXPECT_THAT(spec.dims, ElementsAre(2048, 768, 2, 128, 0));
  EXPECT_THAT(spec.strides, ElementsAre(4096, 768 * 4096, kExpert, 0));
  spec = weights(GateUp::kInterleaved, false);
  EXPECT_THAT(spec.dims, ElementsAre(2048, 768, 2, 128, 0));
  EXPECT_THAT(spec.strides, ElementsAre(2 * 4096, 4096, kExpert, 0));
  spec = weights(GateUp::kConcatenated, true);
  EXPECT_THAT(spec.dims, ElementsAre(768, 2048, 2, 128, 0));
  EXPECT_THAT(spec.strides, ElementsAre(2 * 1536, 2 * 768, kExpert, 0));
  // No box holds gates alone: a map of all outputs.
  spec = weights(GateUp::kInterleaved, true);
  EXPECT_THAT(spec.dims, ElementsAre(1536, 2048, 1, 128, 0));
  EXPECT_THAT(spec.strides, ElementsAre(2 * 1536, 16, kExpert, 0));
}

/// The same for three warpgroups: a box has 8 rows of gate, the same of up, the next 8 of gate, ...
TEST(ExpertsPlan, MapsOfWeightsForThreeWarpgroupsPairRows) {
  const auto carried = images();
  static std::vector<TensorMapSpec> specs;
  constexpr uint64 kRow = 2 * 2880, kExpert = 2 * 2880 * kRow;  // bytes
  for (const bool interleaved : {false, true}) {
    ExpertsCall call;
    call.problem = of_2880(32768);
    call.problem.gate_up = interleaved ? GateUp::kInterleaved : GateUp::kConcatenated;
    call.w13_row = 2880;
    call.w13_expert = 2LL * 2880 * 2880;
    specs.clear();
    ExpertsArguments arguments;
    const auto plan = plan_experts(call.problem, find_gpu("H100").value(), 0, carried);
    ASSERT_EQ(experts_product_groups(config_of(*plan)), 3);
    ASSERT_TRUE(arguments.set(*plan, call, [](const TensorMapSpec& spec) -> Result<TensorMap> {
      specs.push_back(spec);
      return TensorMap{};
    }));
    ASSERT_EQ(specs.size(), 3u);  // no map has rows of x: they are gathered
    EXPECT_THAT(specs[0].dims, ElementsAre(2880, 8, 2, 360, 32));
    EXPECT_THAT(specs[0].box, ElementsAre(64, 8, 2, 4, 1));
    if (interleaved)
      EXPECT_THAT(specs[0].strides, ElementsAre(2 * kRow, kRow, 16 * kRow, kExpert));
    else
      EXPECT_THAT(specs[0].strides, ElementsAre(kRow, 2880 * kRow, 8 * kRow, kExpert));
    // The second product's are not paired.
    EXPECT_THAT(specs[1].dims, ElementsAre(2880, 2880, 1, 1, 32));
    EXPECT_THAT(specs[1].box, ElementsAre(64, 64, 1, 1, 1));
  }
}

TEST(ExpertsPlan, LaunchesAreEnoughForAnyChoice) {
  const auto carried = images();
  const Gpu gpu = find_gpu("A100").value();
  const auto few = plan_experts(problem(64), gpu, 0, carried);
  ASSERT_TRUE(few);
  ASSERT_EQ(few->steps.size(), 4u);  // one chunk needs no count
  EXPECT_EQ(few->steps[0].grid.x, 1);
  EXPECT_EQ(few->steps[1].grid.x, (512 - 128) / 16 * 24 + 128 * 24);  // 32 features of gate and up a tile
  EXPECT_EQ(few->steps[2].grid.x, ((512 - 128) / 16 + 128) * 32);
  EXPECT_EQ(few->steps[3].grid.x, 64);
  const auto many = plan_experts(problem(32768), gpu, 0, carried);
  ASSERT_TRUE(many);
  ASSERT_EQ(many->steps.size(), 5u);
  EXPECT_EQ(many->steps[0].grid.x, 32768 * 8 / kSortChunk);
  EXPECT_EQ(many->steps[1].grid.x, 32768 * 8 / kSortChunk);
  EXPECT_EQ(many->steps[4].grid.x, 32768);
  EXPECT_EQ(plan_experts(problem(0), gpu, 0, carried)->steps.size(), 0u);
  ExpertsProblem nobody = problem(100);
  nobody.high = 0;
  EXPECT_EQ(plan_experts(nobody, gpu, 0, carried)->steps.size(), 2u);  // zeros are written
}

/// One token's choices are tiles of one row, which the products and the sum find by ids.
TEST(ExpertsPlan, OneTokenNeedsNoSort) {
  const auto carried = images();
  const auto plan_on = [&](const char* gpu, const ExpertsProblem& p, const char* variant = "") {
    auto plan = plan_experts(p, find_gpu(gpu).value(), 0, carried, {.variant = variant});
    EXPECT_TRUE(plan) << plan.error().message;
    return *plan;
  };
  for (const char* const gpu : {"T4", "A100", "H100", "B200", "RTX 5090"}) {
    ExpertsProblem p = problem(1, DType::kF16);
    p.hidden = 2056;
    const ExpertsPlan one = plan_on(gpu, p);
    ASSERT_EQ(one.steps.size(), 3u) << gpu;
    EXPECT_EQ(one.steps[0].grid.x, 8 * 24);
    EXPECT_EQ(one.steps[1].grid.x, 8 * 33);
    EXPECT_EQ(one.steps[2].grid.x, 2);  // of 2,048 outputs
    for (const Step& step : one.steps) EXPECT_EQ(step.dependent(), one.product->target.cc >= 90) << gpu;
  }
  ExpertsProblem p = problem(1);
  p.low = 3, p.high = 5;  // each of eight choices may be one of these two experts
  EXPECT_EQ(plan_on("A100", p).steps[0].grid.x, 8 * 24);
  p.high = p.low;
  const char* const small = "experts_mma_bf16_16x64x64_w1x4_s4_b4";
  EXPECT_EQ(plan_on("A100", p, small).steps.size(), 1u);  // zeros are written

  EXPECT_EQ(plan_on("A100", problem(2)).steps.size(), 4u);
  const ExpertsPlan large = plan_on("A100", problem(1), "experts_mma_bf16_128x128x32_w2x2_s3_b2");
  ASSERT_EQ(large.steps.size(), 4u);
  EXPECT_EQ(large.steps[1].grid.x, 8 * 12);
  EXPECT_EQ(plan_on("H100", problem(1), "experts_wgmma_bf16_144x256x64_w1x8_s4_b1").steps.size(), 4u);
  p = problem(1);
  p.sorted = true, p.top_k = 1;
  EXPECT_EQ(plan_on("A100", p).steps.size(), 4u);
}

TEST(ExpertsPlan, OneTokensStepsAreToldOfIdsAlone) {
  const auto carried = images();
  alignas(256) static unsigned char memory[256];
  const int map[] = {1, 0};
  ExpertsCall call;
  call.x = memory, call.x_row = 2048, call.workspace = memory;
  call.topk_ids = reinterpret_cast<const int*>(memory + 64);
  call.map = map, call.mapped = 2;
  for (const int owned : {128, 0}) {
    call.problem = problem(1);
    call.problem.high = owned;
    ExpertsArguments arguments;
    const auto plan = plan_experts(call.problem, find_gpu("A100").value(), 0, carried,
                                   {.variant = "experts_mma_bf16_16x64x64_w1x4_s4_b4"});
    ASSERT_TRUE(plan);
    ASSERT_TRUE(arguments.set(*plan, call, nullptr));
    ASSERT_EQ(arguments.all().size(), plan->steps.size());
    const auto& sum = *static_cast<const ExpertsRowsParams*>(arguments.all().back());
    EXPECT_EQ(sum.step, ExpertsRowsStep::kSumOne);
    EXPECT_EQ(sum.ids, call.topk_ids);
    EXPECT_EQ(sum.sorted_before, owned > 0);  // ids are of the launch before the first
    if (owned == 0) break;
    for (const std::size_t i : {0, 1}) {
      const auto& product = *static_cast<const ExpertsProductParams*>(arguments.all()[i]);
      EXPECT_EQ(product.tiles, nullptr);
      EXPECT_EQ(product.choices, nullptr);
      EXPECT_EQ(product.ids, call.topk_ids);
      EXPECT_EQ(product.here.owned, 128);
      EXPECT_EQ(product.here.map, map);
      EXPECT_EQ(product.here.mapped, 2);
      EXPECT_EQ(product.sorted_before, static_cast<int>(i));
      EXPECT_EQ(product.a_row, i == 0 ? 0 : 768);  // all choices have the one row of x
    }
  }
}

TEST(ExpertsPlan, BlocksOverWgmmaStay) {
  const auto carried = images();
  const auto plan = plan_experts(problem(32768), find_gpu("H200").value(), 0, carried);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->steps.size(), 5u);
  EXPECT_EQ(plan->steps[2].grid.x, 132);
  EXPECT_EQ(plan->steps[3].grid.x, 132);
}

TEST(ExpertsPlan, TheFirstProductGathersWhatDoesNotComeSorted) {
  const auto carried = images();
  const Gpu gpu = find_gpu("H100").value();
  alignas(256) static unsigned char memory[256];
  for (const bool sorted : {false, true})
    for (const std::int64_t tokens : {512, 32768}) {
      ExpertsProblem p = problem(tokens);
      p.sorted = sorted;
      if (sorted) p.top_k = 1;
      const auto plan = plan_experts(p, gpu, 0, carried, {.variant = "experts_wgmma_bf16_144x256x64_w1x8_s4_b1"});
      ASSERT_TRUE(plan);
      ExpertsArguments arguments;
      ExpertsCall call;
      call.problem = p;
      call.x = memory, call.x_row = p.hidden + 8, call.workspace = memory;
      static std::vector<const void*> mapped;
      mapped.clear();
      ASSERT_TRUE(arguments.set(*plan, call, [](const TensorMapSpec& spec) -> Result<TensorMap> {
        mapped.push_back(spec.base);
        return TensorMap{};
      }));
      EXPECT_EQ(std::ranges::count(mapped, memory), sorted);  // TMA copies rows in order alone
      const std::size_t products = arguments.all().size() - 3;
      const auto& first = *static_cast<const WgmmaExpertsParams*>(arguments.all()[products]);
      const auto& second = *static_cast<const WgmmaExpertsParams*>(arguments.all()[products + 1]);
      EXPECT_EQ(first.gathers, !sorted);
      EXPECT_EQ(first.product.a, memory);
      EXPECT_EQ(first.product.a_row, p.hidden + 8);
      EXPECT_EQ(first.product.sorted_before, 0);  // the launch before it sorts
      EXPECT_EQ(second.gathers, 0);
    }
}

TEST(ExpertsPlan, AddsUpBetweenTheTilesWhereTheSumTakesItsTime) {
  const auto carried = images();
  const Gpu gpu = find_gpu("H100").value();
  alignas(256) static unsigned char memory[256];
  const auto phases = [&](const ExpertsProblem& p) {
    const auto plan = plan_experts(p, gpu, 0, carried);
    EXPECT_TRUE(plan);
    ExpertsArguments arguments;
    ExpertsCall call;
    call.problem = p;
    call.x = memory, call.x_row = p.hidden, call.workspace = memory, call.out = memory + 16, call.out_row = p.hidden;
    call.topk_weights = reinterpret_cast<const float*>(memory);
    EXPECT_TRUE(arguments.set(*plan, call, [](const TensorMapSpec&) -> Result<TensorMap> { return TensorMap{}; }));
    const std::size_t last = plan->steps.size() - 1;
    const auto& first = *static_cast<const WgmmaExpertsParams*>(arguments.all()[last - 2]);
    const auto& second = *static_cast<const WgmmaExpertsParams*>(arguments.all()[last - 1]);
    const auto& sum = *static_cast<const ExpertsRowsParams*>(arguments.all()[last]);
    EXPECT_EQ(first.phases.count, 1);
    EXPECT_EQ(first.phases.columns_of(0).by, first.product.columns.by);
    EXPECT_EQ(second.phases.count, sum.phases.count);
    EXPECT_EQ((second.phases.count - 1) * second.phases.columns.by + second.phases.last.by, second.product.columns.by);
    EXPECT_EQ(plan->steps[last].grid.x * sum.sum_tokens.by / p.tokens, 1);
    const auto& place = *static_cast<const ExpertsRowsParams*>(arguments.all()[1]);
    EXPECT_EQ(place.summing_count, second.phases.count > 1 ? 2 * kMostPhases : 0);
    if (second.phases.count > 1) {
      EXPECT_EQ(second.sums.out, call.out);
      EXPECT_EQ(second.sums.weights, p.weight_on == WeightOn::kInput ? nullptr : call.topk_weights);
      EXPECT_EQ(second.sums.places, place.places);
      EXPECT_EQ(second.sums.units.taken, place.summing);
      EXPECT_EQ(second.sums.units.stored, place.summing + kMostPhases);
      EXPECT_EQ(second.sums.units.taken, sum.units.taken);
      EXPECT_EQ(second.sums.units.each.by, 32 / p.top_k);
    }
    return second.phases;
  };
  ExpertsProblem p = problem(32768);
  EXPECT_EQ(phases(p).count, 4);
  EXPECT_EQ(phases(p).columns.by, 2);
  p.weight_on = WeightOn::kInput;
  EXPECT_EQ(phases(p).count, 4);
  EXPECT_EQ(phases(problem(8192)).count, 1);  // the sum is short
  p.hidden = 2304;                            // 9 tiles
  EXPECT_EQ(phases(p).count, 3);
  EXPECT_EQ(phases(p).last.by, 3);
  p.hidden = 256;
  EXPECT_EQ(phases(p).count, 1);
  p = problem(32768);
  p.intermediate = 14336;  // the products are long
  EXPECT_EQ(phases(p).count, 1);

  const ExpertsProductConfig& c = config_of(*plan_experts(p, gpu, 0, carried));
  EXPECT_EQ(phase_columns_of(c, p, 8), 0);  // one phase
  p.hidden = 7168;
  EXPECT_EQ(phase_columns_of(c, p, 1), 4);  // no more phases than there are counters
  p.high = 0;
  EXPECT_EQ(phase_columns_of(c, p, 4), 0);
}

TEST(ExpertsTiles, AreEachTakenOnceInBands) {
  EXPECT_EQ(experts_band(16), 128);
  EXPECT_EQ(experts_band(128), 16);
  EXPECT_EQ(experts_band(144), 16);
  for (const int tiles : {1, 2, 15, 16, 17, 31, 33, 49, 228, 5000})
    for (const auto& [columns, band] : {std::pair{1, 16}, {6, 16}, {7, 16}, {6, 128}}) {
      std::vector<int> taken(std::size_t(tiles) * std::size_t(columns));
      for (int n = 0; n < tiles * columns; ++n) {
        const auto [tile, column] = experts_tile_at(n, tiles, columns, band);
        ASSERT_TRUE(tile >= 0 && tile < tiles && column >= 0 && column < columns) << n << " of " << tiles;
        ++taken[std::size_t(tile) * std::size_t(columns) + std::size_t(column)];
        // What is taken together is of few tiles of rows.
        const auto [before, of] = experts_tile_at(n / band * band, tiles, columns, band);
        EXPECT_LT(std::abs(tile - before), 2 * band);
      }
      EXPECT_THAT(taken, testing::Each(1)) << tiles << " by " << columns << ", bands of " << band;
    }
}

TEST(ExpertsPlan, KeepsByAFormOfItsOwn) {
  const auto carried = images();
  ExpertsProblem p = problem(8);
  p.keeps = true;
  const auto kept = plan_experts(p, find_gpu("H100").value(), 0, carried);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->product->variant->name, "experts_wgmma_bf16_144x256x64_w1x8_s4_b1_z");
  p.keeps = false;
  EXPECT_FALSE(config_of(*plan_experts(p, find_gpu("H100").value(), 0, carried)).keeps);
  p.keeps = true;
  const auto older = plan_experts(p, find_gpu("A100").value(), 0, carried);
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().code, Code::kMisfit);
  EXPECT_THAT(older.error().message, HasSubstr("intermediate 768, keeping z: "));
}

TEST(ExpertsPlan, OnlyTheFirstProductKeeps) {
  const auto carried = images();
  ExpertsProblem p = problem(100);
  p.keeps = true;
  const auto plan = plan_experts(p, find_gpu("H100").value(), 0, carried);
  ASSERT_TRUE(plan);
  alignas(256) static unsigned char memory[256];
  ExpertsCall call;
  call.problem = p;
  call.z = memory + 16, call.workspace = memory;
  ExpertsArguments arguments;
  ASSERT_TRUE(arguments.set(*plan, call, [](const TensorMapSpec&) -> Result<TensorMap> { return TensorMap{}; }));
  const auto z_of = [&](std::size_t step) {
    return static_cast<const WgmmaExpertsParams*>(arguments.all()[step])->product.z;
  };
  EXPECT_EQ(z_of(1), call.z);
  EXPECT_EQ(z_of(2), nullptr);
}

TEST(ExpertsPlan, WithoutAGateATileHasTwiceTheFeatures) {
  const auto carried = images();
  ExpertsProblem p = problem(32768);
  const Gpu gpu = find_gpu("A100").value();
  const std::int64_t gated = plan_experts(p, gpu, 0, carried)->steps[2].grid.x;
  p.activation = Activation::kRelu2;
  EXPECT_EQ(plan_experts(p, gpu, 0, carried)->steps[2].grid.x * 2, gated);
}

TEST(ExpertsPlan, SaysWhatBinds) {
  const auto carried = images();
  const Gpu l4 = find_gpu("L4").value();
  const auto message = [&](const ExpertsProblem& p, const PlanOptions& options = {}, CudaVersion driver = 0) {
    const auto plan = plan_experts(p, l4, driver, carried, options);
    return plan ? "fits" : plan.error().message;
  };
  EXPECT_THAT(message(problem(8), {}, 11080), HasSubstr("driver: CUDA 11.8 is too old"));
  EXPECT_THAT(message(problem(8, DType::kF32)), HasSubstr("on a GPU experts are fp16 or bf16"));
  ExpertsProblem odd = problem(8);
  odd.intermediate = 100;
  EXPECT_THAT(message(odd), HasSubstr("intermediate 100: on a GPU hidden and intermediate are multiples of 8"));
  EXPECT_THAT(message(problem(std::int64_t{1} << 28)), HasSubstr("more tiles than a launch may have blocks"));
  EXPECT_THAT(message(problem(8), {.variant = "nothing"}),
              HasSubstr("variant nothing is no variant of the experts' products; for bf16 experts, 8 of 128, "
                        "hidden 2048, intermediate 768: experts_mma_bf16_128x128x32_w2x2_s3_b2, "));
  EXPECT_THAT(message(problem(8), {.variant = "experts_mma_fp16_16x64x64_w1x4_s4_b4"}), HasSubstr("has another dtype"));
  ExpertsProblem turned = problem(8);
  turned.transposed = true;
  EXPECT_THAT(message(turned, {.variant = "experts_wgmma_bf16_144x256x64_w1x8_s4_b1"}),
              HasSubstr("takes weights that lie otherwise"));
  EXPECT_THAT(message(problem(8), {.variant = "experts_wgmma_bf16_144x256x64_w1x8_s4_b1_t"}),
              HasSubstr("takes weights that lie otherwise"));
  EXPECT_THAT(message(problem(8), {.variant = "experts_wgmma_bf16_144x256x64_w1x8_s4_b1_z"}),
              HasSubstr("or keeps otherwise"));
  EXPECT_EQ(message(problem(32768), {.variant = "experts_mma_bf16_16x64x64_w1x4_s4_b4"}), "fits");
  const auto nothing = plan_experts(problem(8), l4, 0, {});
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().message, HasSubstr("carries no image for it"));
}

TEST(ExpertsPlan, SaysWhy) {
  const auto carried = images();
  const Gpu l4 = find_gpu("L4").value();
  const auto plan = plan_experts(problem(64), l4, 0, carried);
  EXPECT_EQ(reason_for(plan, problem(64), l4),
            "machine code runs on 8.9; tiles of 16 rows by 64 outputs, as 64 tokens give an expert 4 rows");
}

TEST(ExpertsModel, MoreOfAnythingTakesLonger) {
  const Gpu gpu = find_gpu("H200").value();
  for (const ExpertsProductVariant& v : experts_product_variants()) {
    double before = 0;
    for (std::int64_t tokens = 1; tokens < 1 << 20; tokens *= 4) {
      const ExpertsTime time = experts_model(v.config, problem(tokens, v.config.dtype), gpu);
      EXPECT_GT(time.all, before) << tokens;
      before = time.all;
    }
  }
  ExpertsProblem none = problem(100);
  none.high = 0;
  EXPECT_EQ(experts_model(experts_product_variants()[0].config, none, gpu).all, 0);
}

TEST(ExpertsCall, NamesWhatIsNotAligned) {
  alignas(16) static unsigned char memory[64];
  ExpertsCall call;
  call.problem = problem(3);
  call.x = call.w13 = call.w2 = call.out = memory;
  EXPECT_EQ(misalignment_of(call), std::nullopt);
  call.w2_row = 769;
  EXPECT_EQ(misalignment_of(call), "w2: row stride 769; accepted on a GPU: a multiple of 8");
  call.w2_row = 768;
  call.x_row = (std::int64_t{1} << 34) - 8;
  EXPECT_EQ(misalignment_of(call), std::nullopt);
  call.x_row += 8;
  EXPECT_EQ(misalignment_of(call),
            "x: 3 rows that lie 17179869184 elements apart; accepted on a GPU: the last begins before 2^35 elements");
  call.x_row = 768;
  call.x = memory + 2;
  EXPECT_THAT(misalignment_of(call).value_or(""), HasSubstr("x: address 0x"));
}

}  // namespace
}  // namespace flashfit
