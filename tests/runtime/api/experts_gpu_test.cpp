// What of a layer of experts reaches a GPU: from the C API to the launches, over the fake driver, with images of the
// test's own.
#include <gmock/gmock.h>

#include "fake_cuda/fake_cuda.hpp"
#include "gpu_double.hpp"
#include "kernels/moe/experts/params.hpp"
#include "kernels/moe/experts/workspace.hpp"
#include "kernels/moe/route/config.hpp"
#include "tensors.hpp"

namespace flashfit::test {
namespace {

using gpu_double::launched;
using gpu_double::prepared;

class ExpertsOnGpu : public testing::Test {
 protected:
  static constexpr std::uintptr_t kWorkspace = std::uintptr_t{1} << 40;  // nothing reads it

  void SetUp() override {
    launched.clear();
    prepared.clear();
    gpu_double::answer = {};
    args.struct_size = sizeof args;
    args.x = &x.dl, args.w13 = &w13.dl, args.w2 = &w2.dl, args.out = &out.dl, args.stream = this;
    args.topk_ids = &ids.dl, args.topk_weights = &weights.dl;
    for (Tensor* t : {&x, &w13, &w2, &out, &ids, &weights, &logits, &z, &offsets, &map, &shared13, &shared2})
      t->dl.device = {kDLCUDA, 0};
    problem = {.dtype = DType::kBF16,
               .tokens = 10,
               .experts = 4,
               .top_k = 2,
               .hidden = 64,
               .intermediate = 32,
               .low = 0,
               .high = 4};
  }
  void lend(std::uint64_t bytes) {
    args.workspace = reinterpret_cast<void*>(kWorkspace);
    args.workspace_bytes = bytes;
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto& l : launched) all.push_back(l.image->variant->name);
    return all;
  }
  const DLDataType bf16 = dl_dtype(DType::kBF16);
  // Rows of x are 64 of 80 elements.
  Tensor x{{10, 64}, bf16, {80, 1}}, w13{{4, 64, 64}, bf16}, w2{{4, 64, 32}, bf16}, out{{10, 64}, bf16},
      ids{{10, 2}, {kDLInt, 32, 1}}, weights{{10, 2}, dl_dtype(DType::kF32)}, logits{{10, 4}, bf16}, z{{24, 64}, bf16},
      offsets{{5}, {kDLInt, 32, 1}}, map{{9}, {kDLInt, 32, 1}}, shared13{{64, 64}, bf16}, shared2{{64, 32}, bf16};
  flashfit_fused_moe_args args{};
  ExpertsProblem problem;
};

TEST_F(ExpertsOnGpu, AreFourLaunchesOnTheCallersStream) {
  std::uint64_t bytes = 0;
  ASSERT_EQ(flashfit_fused_moe_workspace(&args, &bytes), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(bytes, static_cast<std::uint64_t>(workspace_bytes(problem)));
  EXPECT_TRUE(launched.empty());
  lend(bytes);
  ASSERT_EQ(flashfit_fused_moe(&args), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 4u);
  EXPECT_EQ(names().front(), "experts_rows_bf16");
  EXPECT_EQ(names().back(), "experts_rows_bf16");
  EXPECT_EQ(names()[1], names()[2]);
  for (const auto& l : launched) EXPECT_EQ(l.stream, this);
  const auto& place = launched[0].as<ExpertsRowsParams>();
  EXPECT_EQ(place.ids, ids.dl.data);
  EXPECT_EQ(place.rows, 20);
  const auto& first = launched[1].as<ExpertsProductParams>();
  EXPECT_EQ(first.a, x.dl.data);
  EXPECT_EQ(first.a_row, 80);
  EXPECT_EQ(first.w, w13.dl.data);
  EXPECT_EQ(first.outputs, 32);
  const auto& sum = launched[3].as<ExpertsRowsParams>();
  EXPECT_EQ(sum.out, out.dl.data);
  EXPECT_EQ(sum.weights, weights.dl.data);
  EXPECT_TRUE(out.untouched());
}

TEST_F(ExpertsOnGpu, AreThreeLaunchesOfOneToken) {
  for (Tensor* t : {&x, &out, &ids, &weights, &logits}) t->shape()[0] = 1;
  args.expert_map = &map.dl;
  lend(1 << 20);
  ASSERT_EQ(flashfit_fused_moe(&args), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 3u);
  EXPECT_EQ(names()[0], names()[1]);
  EXPECT_EQ(names()[2], "experts_rows_bf16");
  for (const int i : {0, 1}) {
    const auto& product = launched[i].as<ExpertsProductParams>();
    EXPECT_EQ(product.tiles, nullptr);
    EXPECT_EQ(product.ids, ids.dl.data);
    EXPECT_EQ(product.here.map, map.dl.data);
    EXPECT_EQ(product.here.mapped, 9);
  }
  EXPECT_EQ(launched[2].as<ExpertsRowsParams>().step, ExpertsRowsStep::kSumOne);

  launched.clear();
  args.expert_map = nullptr;
  args.topk_ids = args.topk_weights = nullptr;
  args.router_logits = &logits.dl, args.top_k = 2;
  ASSERT_EQ(flashfit_fused_moe(&args), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 4u);
  EXPECT_EQ(launched[1].as<ExpertsProductParams>().ids, launched[0].as<RouteParams>().ids);
  EXPECT_EQ(launched[3].as<ExpertsRowsParams>().weights, launched[0].as<RouteParams>().weights);
}

TEST_F(ExpertsOnGpu, RouteByEveryRouter) {
  args.topk_ids = args.topk_weights = nullptr;
  args.router_logits = &logits.dl, args.top_k = 2;
  lend(1 << 20);
  const std::pair<std::uint32_t, Score> routers[] = {
      {0, Score::kNone}, {FLASHFIT_SIGMOID, Score::kSigmoid}, {FLASHFIT_SQRT_SOFTPLUS, Score::kSqrtSoftplus}};
  for (const auto& [flags, score] : routers) {
    launched.clear();
    args.flags = flags;
    ASSERT_EQ(flashfit_fused_moe(&args), FLASHFIT_OK) << flashfit_last_error();
    ASSERT_EQ(launched.size(), 5u);
    EXPECT_EQ(launched[0].as<RouteParams>().score, score);
  }
}

TEST_F(ExpertsOnGpu, RouteFirstWhereLogitsAreGiven) {
  args.topk_ids = args.topk_weights = nullptr;
  args.router_logits = &logits.dl, args.top_k = 2, args.flags = FLASHFIT_RENORMALIZE;
  std::uint64_t bytes = 0;
  ASSERT_EQ(flashfit_fused_moe_workspace(&args, &bytes), FLASHFIT_OK) << flashfit_last_error();
  const auto own = static_cast<std::uint64_t>(workspace_bytes(problem));
  EXPECT_EQ(bytes, own + 2 * 256);
  lend(bytes);
  ASSERT_EQ(flashfit_fused_moe(&args), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 5u);
  const auto& route = launched[0].as<RouteParams>();
  EXPECT_EQ(route.logits, logits.dl.data);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(route.ids), kWorkspace + own);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(route.weights), kWorkspace + own + 256);
  EXPECT_EQ(launched[1].as<ExpertsRowsParams>().ids, route.ids);
  EXPECT_EQ(launched[4].as<ExpertsRowsParams>().weights, route.weights);
}

TEST_F(ExpertsOnGpu, TakeRowsThatComeSorted) {
  args.topk_ids = args.topk_weights = nullptr;
  args.offsets = &offsets.dl;
  lend(1 << 20);
  ASSERT_EQ(flashfit_fused_moe(&args), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 4u);
  const auto& take = launched[0].as<ExpertsRowsParams>();
  EXPECT_EQ(take.step, ExpertsRowsStep::kTake);
  EXPECT_EQ(take.offsets, offsets.dl.data);
  EXPECT_EQ(take.rows, 10);
  EXPECT_EQ(launched[3].as<ExpertsRowsParams>().weights, nullptr);
}

TEST_F(ExpertsOnGpu, ReadIdsThroughAMap) {
  args.expert_map = &map.dl;
  lend(1 << 20);
  ASSERT_EQ(flashfit_fused_moe(&args), FLASHFIT_OK) << flashfit_last_error();
  const auto& place = launched[0].as<ExpertsRowsParams>();
  EXPECT_EQ(place.here.map, map.dl.data);
  EXPECT_EQ(place.here.mapped, 9);
  EXPECT_EQ(place.here.low, 0);
  EXPECT_EQ(place.here.owned, 4);
}

TEST_F(ExpertsOnGpu, RefuseZOfAnotherShapeAndWhereNoKernelKeeps) {
  const auto refused = [&](flashfit_status status, const char* why) {
    lend(1 << 20);
    EXPECT_EQ(flashfit_fused_moe(&args), status);
    EXPECT_THAT(flashfit_last_error(), testing::HasSubstr(why));
    EXPECT_TRUE(launched.empty());
  };
  args.z = &z.dl;
  refused(FLASHFIT_MISFIT, ", keeping z: ");
  z.shape()[0] = 20;
  refused(FLASHFIT_INVALID_ARGUMENT, "z: shape is (20, 64); accepted: (24, 64), [choices + experts, outputs of w13]");
  args.z = &out.dl;
  refused(FLASHFIT_INVALID_ARGUMENT, "z: shape is (10, 64); accepted: (24, 64)");
  args.topk_ids = args.topk_weights = nullptr;
  args.offsets = &offsets.dl;
  refused(FLASHFIT_INVALID_ARGUMENT, "z: given with offsets; accepted: NULL");
}

TEST_F(ExpertsOnGpu, PrepareWithoutALaunch) {
  ASSERT_EQ(flashfit_fused_moe_prepare(&args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_TRUE(launched.empty());
  EXPECT_EQ(prepared.size(), 4u);
}

TEST_F(ExpertsOnGpu, LaunchNothingWithoutTokens) {
  for (Tensor* t : {&x, &out, &ids, &weights}) t->shape()[0] = 0;
  EXPECT_EQ(flashfit_fused_moe(&args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_TRUE(launched.empty());
}

TEST_F(ExpertsOnGpu, TakeTheVariantThatIsAskedFor) {
  lend(1 << 20);
  args.variant = "experts_mma_bf16_128x128x32_w2x2_s3_b2";
  ASSERT_EQ(flashfit_fused_moe(&args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(names()[1], args.variant);
  args.variant = "experts";
  EXPECT_EQ(flashfit_fused_moe(&args), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::HasSubstr("is no variant of the experts' products"));
}

TEST_F(ExpertsOnGpu, WantAWorkspace) {
  EXPECT_EQ(flashfit_fused_moe(&args), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::StartsWith("workspace: NULL; accepted: "));
  lend(static_cast<std::uint64_t>(workspace_bytes(problem)) - 1);
  EXPECT_EQ(flashfit_fused_moe(&args), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::HasSubstr(" bytes; accepted: "));
  lend(1 << 20);
  args.workspace = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(w2.dl.data) / 256 * 256);
  EXPECT_EQ(flashfit_fused_moe(&args), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::HasSubstr("; accepted: memory of its own"));
  EXPECT_TRUE(launched.empty());
}

TEST_F(ExpertsOnGpu, AskAnAllocatorOnceForAWorkspaceThatNobodyLent) {
  std::vector<std::uint64_t> asked;
  const flashfit_allocate give = [](void* context, std::uint64_t bytes) {
    static_cast<std::vector<std::uint64_t>*>(context)->push_back(bytes);
    return reinterpret_cast<void*>(kWorkspace);
  };
  ASSERT_EQ(flashfit_fused_moe_run(&args, give, &asked), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_THAT(asked, testing::ElementsAre(workspace_bytes(problem)));
  const auto counts = reinterpret_cast<std::uintptr_t>(launched.at(0).as<ExpertsRowsParams>().counts);
  EXPECT_EQ(counts, kWorkspace + static_cast<std::uint64_t>(experts_workspace(problem).counts));
  lend(1 << 20);
  EXPECT_EQ(flashfit_fused_moe_run(&args, give, &asked), FLASHFIT_OK) << flashfit_last_error();
  args.activation = 99;
  args.workspace = nullptr;
  EXPECT_EQ(flashfit_fused_moe_run(&args, give, &asked), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(asked, testing::SizeIs(1));
  args.activation = FLASHFIT_SWIGLU;
  launched.clear();
  const flashfit_allocate nothing = [](void*, std::uint64_t) -> void* { return nullptr; };
  EXPECT_EQ(flashfit_fused_moe_run(&args, nothing, nullptr), FLASHFIT_OUT_OF_MEMORY);
  EXPECT_THAT(flashfit_last_error(), testing::StartsWith("workspace: allocate gave NULL; accepted: "));
  EXPECT_TRUE(launched.empty());
}

TEST_F(ExpertsOnGpu, SayWhatNoKernelDoes) {
  args.shared_w13 = &shared13.dl, args.shared_w2 = &shared2.dl;
  EXPECT_EQ(flashfit_fused_moe(&args), FLASHFIT_MISFIT);
  EXPECT_STREQ(
      flashfit_last_error(),
      "shared_w13: add the shared expert's result: on a GPU there is no kernel for it yet; the CPU computes it");
}

TEST_F(ExpertsOnGpu, RefuseMemoryThatKernelsCannotRead) {
  lend(1 << 20);
  x.strides()[0] = 65;
  EXPECT_EQ(flashfit_fused_moe(&args), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(flashfit_last_error(), "x: row stride 65; accepted on a GPU: a multiple of 8");
}

TEST_F(ExpertsOnGpu, PassTheLaunchersErrorOn) {
  lend(1 << 20);
  gpu_double::answer = fail(Code::kCuda, "cuLaunchKernelEx: 700");
  EXPECT_EQ(flashfit_fused_moe(&args), FLASHFIT_CUDA);
  EXPECT_STREQ(flashfit_last_error(), "cuLaunchKernelEx: 700");
}

}  // namespace
}  // namespace flashfit::test
