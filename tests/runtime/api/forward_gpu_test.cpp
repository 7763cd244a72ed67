// What reaches a GPU: the whole way from the C API to the launch, over the fake driver, with images of the test's own.
#include <gmock/gmock.h>

#include <cstring>
#include <tuple>
#include <vector>

#include "fake_cuda/fake_cuda.hpp"
#include "gpu_double.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward_params.hpp"
#include "tensors.hpp"

namespace flashfit::test {
namespace {

using gpu_double::answer;
using gpu_double::launched;
using gpu_double::Launched;

const ForwardConfig& config_of(const Launched& l) { return forward_variant_of(*l.image->variant).config; }

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    launched.clear();
    answer = {};
  }
  const Launched& run_one(Call& c) {
    EXPECT_EQ(c.run(), FLASHFIT_OK) << flashfit_last_error();
    EXPECT_EQ(launched.size(), 1u);
    EXPECT_TRUE(c.out->untouched());  // the CPU had no part in it
    static const Launched none{};
    return launched.empty() ? none : launched.back();
  }
};

TEST_F(OnGpu, DenseWithGroupsAndStrides) {
  Call c = Call::dense(DType::kF16, 2, 100, 70, 8, 2, 64);
  c.q->strides() = {64, 2 * 8 * 64, 2 * 64, 1};  // [seqlen, heads, batch, head_dim] in memory
  c.args.softmax_scale = 0.25f;
  c.args.stream = &c;
  c.pretend_gpu();
  const Launched& l = run_one(c);
  const ForwardParams& p = l.as<ForwardParams>();
  EXPECT_EQ(l.device, 0);
  EXPECT_EQ(l.stream, &c);
  EXPECT_EQ(config_of(l).head_dim, 64);
  EXPECT_EQ(l.image->target, (Target{89, Target::Kind::kSass}));
  const int tiles = (100 + config_of(l).block_m - 1) / config_of(l).block_m;
  EXPECT_EQ(p.slots, 2 * tiles);
  EXPECT_EQ(l.grid.x, 8 * p.slots);
  EXPECT_EQ(p.q, c.q->dl.data);
  EXPECT_EQ(p.k, c.k->dl.data);
  EXPECT_EQ(p.v, c.v->dl.data);
  EXPECT_EQ(p.o, c.out->dl.data);
  EXPECT_EQ(p.lse, c.lse->dl.data);
  EXPECT_EQ(p.cu_seqlens_q, nullptr);
  EXPECT_EQ(p.cu_seqlens_k, nullptr);
  EXPECT_THAT((std::vector{p.q_batch, p.q_row, p.q_head}), testing::ElementsAre(64, 1024, 128));
  EXPECT_THAT((std::vector{p.k_batch, p.k_row, p.k_head}), testing::ElementsAre(70 * 128, 128, 64));
  EXPECT_THAT((std::vector{p.v_batch, p.v_row, p.v_head}), testing::ElementsAre(70 * 128, 128, 64));
  EXPECT_THAT((std::vector{p.o_batch, p.o_row, p.o_head}), testing::ElementsAre(100 * 512, 512, 64));
  EXPECT_THAT((std::vector{p.lse_batch, p.lse_head}), testing::ElementsAre(800, 100));
  EXPECT_THAT((std::vector{p.batch, p.heads.by, p.group.by, p.seqlen_q, p.seqlen_k, p.causal}),
              testing::ElementsAre(2, 8, 4, 100, 70, 0));
  EXPECT_EQ(p.softmax_scale, 0.25f);
}

TEST_F(OnGpu, VariableLengthCausal) {
  Call c = Call::ragged({0, 130, 130, 200}, {0, 50, 60, 90}, DType::kBF16, 6, 3, 128);
  c.args.flags = FLASHFIT_CAUSAL;
  c.args.lse = nullptr;
  c.q->dl.data = c.q->as<char>() - 64, c.q->dl.byte_offset = 64;
  c.pretend_gpu();
  const ForwardParams& p = run_one(c).as<ForwardParams>();
  EXPECT_EQ(p.q, c.q->as<char>());
  EXPECT_EQ(p.lse, nullptr);
  EXPECT_EQ(p.cu_seqlens_q, c.cu_q->dl.data);
  EXPECT_EQ(p.cu_seqlens_k, c.cu_k->dl.data);
  EXPECT_THAT((std::vector{p.q_batch, p.q_row, p.q_head}), testing::ElementsAre(0, 768, 128));
  EXPECT_THAT((std::vector{p.k_batch, p.k_row, p.k_head}), testing::ElementsAre(0, 384, 128));
  EXPECT_THAT((std::vector{p.lse_batch, p.lse_head}), testing::ElementsAre(0, 200));
  EXPECT_THAT((std::vector{p.batch, p.heads.by, p.group.by, p.seqlen_q, p.seqlen_k, p.causal}),
              testing::ElementsAre(3, 6, 2, 200, 90, 1));
  EXPECT_FLOAT_EQ(p.softmax_scale, 1 / std::sqrt(128.0f));
  EXPECT_EQ(launched[0].grid.x, (config_of(launched[0]).packs ? 3ll : 6ll) * p.slots);
}

TEST_F(OnGpu, ValuesOfCuSeqlensAreNotRead) {
  Call c = Call::ragged({0, 3, 6}, {0, 3, 7}, DType::kF16, 4, 2, 64);
  c.cu_q->dl.data = reinterpret_cast<void*>(0x7000);  // an address that only a GPU could read
  c.pretend_gpu();
  EXPECT_EQ(run_one(c).as<ForwardParams>().cu_seqlens_q, reinterpret_cast<const int*>(0x7000));
}

TEST_F(OnGpu, NoKeysStillLaunchNoRowsAndNoHeadsDoNot) {
  Call zeros = Call::dense(DType::kF16, 2, 3, 0, 4, 2, 64);
  zeros.k->dl.data = zeros.v->dl.data = nullptr;
  zeros.pretend_gpu();
  EXPECT_EQ(run_one(zeros).as<ForwardParams>().seqlen_k, 0);
  launched.clear();
  for (const auto& [rows, heads_q, heads_kv] : {std::tuple{0, 4, 2}, {3, 0, 2}, {3, 0, 0}}) {
    Call nothing = Call::dense(DType::kF16, 2, rows, 5, heads_q, heads_kv, 64);
    nothing.pretend_gpu();
    EXPECT_EQ(nothing.run(), FLASHFIT_OK) << flashfit_last_error();
    EXPECT_TRUE(launched.empty());
  }
}

TEST_F(OnGpu, VariantAndPtxAreForced) {
  const std::string name = name_of(forward_variants().back().config);
  const ForwardConfig& config = forward_variants().back().config;
  Call c = Call::dense(config.dtype, 1, 64, 16, 2, 2, config.head_dim);  // too few keys to be cut
  c.args.variant = name.c_str();
  c.args.flags = FLASHFIT_PTX_ONLY;
  c.pretend_gpu();
  const Launched& l = run_one(c);
  EXPECT_EQ(name_of(config_of(l)), name);
  EXPECT_EQ(l.image->target.kind, Target::Kind::kPtx);
}

TEST_F(OnGpu, MisfitsAndFailuresKeepTheirStatus) {
  Call c = Call::dense(DType::kF16, 1, 64, 64, 2, 2, 520);
  c.pretend_gpu();
  EXPECT_EQ(c.run(), FLASHFIT_MISFIT);
  EXPECT_THAT(flashfit_last_error(), testing::HasSubstr("520"));
  EXPECT_TRUE(launched.empty());

  Call far = Call::dense(DType::kF16, 1, 64, 64, 2, 2, 64);
  far.pretend_gpu(3);
  EXPECT_EQ(far.run(), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::HasSubstr("3"));
  far.pretend_gpu(64);
  EXPECT_EQ(far.run(), FLASHFIT_INVALID_ARGUMENT);
  far.pretend_gpu(-1);
  EXPECT_EQ(far.run(), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_TRUE(launched.empty());

  answer = fail(Code::kCuda, "cuLaunchKernelEx: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
  Call refused = Call::dense(DType::kF16, 1, 64, 64, 2, 2, 64);
  refused.pretend_gpu();
  EXPECT_EQ(refused.run(), FLASHFIT_CUDA);
  EXPECT_STREQ(flashfit_last_error(), "cuLaunchKernelEx: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
}

TEST_F(OnGpu, PreparesTheImageThatItWillLaunch) {
  Call c = Call::dense(DType::kF16, 1, 64, 64, 2, 2, 64);
  c.pretend_gpu();
  gpu_double::prepared.clear();
  EXPECT_EQ(flashfit_attention_prepare(&c.args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_TRUE(launched.empty());
  ASSERT_EQ(gpu_double::prepared.size(), 1u);
  EXPECT_EQ(gpu_double::prepared[0], run_one(c).image);
  answer = fail(Code::kCuda, "cuLibraryLoadData: CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(flashfit_attention_prepare(&c.args), FLASHFIT_CUDA);
}

TEST_F(OnGpu, RememberedPlansAreThoseOfTheProblem) {
  // More problems than are remembered, twice, each unlike the one before it in one thing.
  std::vector<Call> calls;
  for (const int rows : {1, 64, 65, 200, 1000}) {
    calls.push_back(Call::dense(DType::kF16, 1, rows, 64, 2, 2, 64));
    calls.push_back(Call::dense(DType::kBF16, 1, rows, 64, 2, 2, 64));
    calls.push_back(Call::dense(DType::kBF16, 2, rows, 64, 2, 2, 64));
    calls.push_back(Call::dense(DType::kBF16, 2, rows, 64, 2, 2, 128));
    calls.push_back(Call::ragged({0, rows}, {0, 64}, DType::kF16, 2, 2, 128));
    calls.push_back(Call::dense(DType::kF16, 1, rows, 64, 2, 2, 128));
    calls.push_back(Call::dense(DType::kF16, 1, rows, 64, 2, 2, 128));
    calls.back().args.flags = FLASHFIT_PTX_ONLY;
  }
  for (int round = 0; round < 2; ++round) {
    for (Call& c : calls) {
      c.pretend_gpu();
      for (int repeat = 0; repeat < 2; ++repeat) {
        launched.clear();
        const Launched& l = run_one(c);
        const auto& q = c.q->shape();
        const ForwardConfig& config = config_of(l);
        EXPECT_EQ(config.head_dim, q.back());
        EXPECT_EQ(dl_dtype(config.dtype).code, c.q->dl.dtype.code);
        EXPECT_EQ(l.image->target.kind == Target::Kind::kPtx, c.args.flags == FLASHFIT_PTX_ONLY);
        const std::int64_t slots =
            c.cu_q ? q[0] / config.block_m + 1 : q[0] * ((q[1] + config.block_m - 1) / config.block_m);
        EXPECT_EQ(l.as<ForwardParams>().slots, slots);
      }
    }
  }
}

TEST_F(OnGpu, AsksTheDriverOnce) {
  Call c = Call::dense(DType::kF16, 1, 64, 64, 2, 2, 64);
  c.pretend_gpu();
  run_one(c);
  const int before = fake_cuda::fake().calls("cuDeviceGetAttribute");
  EXPECT_EQ(c.run(), FLASHFIT_OK);
  EXPECT_EQ(fake_cuda::fake().calls("cuDeviceGetAttribute"), before);
  EXPECT_THAT(fake_cuda::fake().complaints, testing::IsEmpty());
}

}  // namespace
}  // namespace flashfit::test
