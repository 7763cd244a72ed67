// Configurations that must not compile, and the line that says why: a bad variant of the table fails like this.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/images/build/nvrtc.hpp"

namespace flashfit {
namespace {

using testing::HasSubstr;

/// What NVRTC says of a kernel with this ForwardConfig, "" if it compiles. `config`: its first eight members.
std::string refusal(const std::string& config, const std::string& architecture, int column_warps = 1) {
  const std::string sources = SOURCE_DIR;
  const Result<Nvrtc> nvrtc = Nvrtc::open(NVRTC);
  EXPECT_TRUE(nvrtc) << nvrtc.error().message;
  const Result<Compiled> made = nvrtc->compile(
      "#include \"kernels/attention/forward/forward.cuh\"\n",
      fmt::format("flashfit::arch::entry<flashfit::ForwardKernel<flashfit::ForwardConfig{{{}, {}, 0, 1}}>>", config,
                  column_warps),
      {"--gpu-architecture=" + architecture, "--std=c++20", "-default-device", "-I" + sources + "/kernels/arch/cuda",
       "-I" + sources},
      false);
  return made ? "" : made.error().message;
}

constexpr const char* kSound = "flashfit::ForwardEngine::kMma, flashfit::DType::kF16, 64, 64, 64, 64, 4, 2, 2";
constexpr const char* kOrigin =
    "flashfit::ForwardEngine::kMma, flashfit::DType::kF16, 128, 128, 128, 128, 4, 2, 1";  // a field report's: 160 KB on
                                                                                          // an L4

TEST(RefusedKernels, ASoundOneCompiles) { EXPECT_EQ(refusal(kSound, "sm_89"), ""); }

TEST(RefusedKernels, SharedMemoryPastTheGpuNamesBothNumbers) {
  const std::string message = refusal(kOrigin, "sm_89");
  EXPECT_THAT(message, HasSubstr("this kernel's shared memory is larger than what a block of the target GPU may have"));
  EXPECT_THAT(message, HasSubstr("Used=163840"));
  EXPECT_THAT(message, HasSubstr("Limit=101376"));
}

TEST(RefusedKernels, TheSameTileFitsWhereThereIsRoom) { EXPECT_EQ(refusal(kOrigin, "sm_80"), ""); }

TEST(RefusedKernels, BFloat16HasNoTuring) {
  EXPECT_THAT(refusal("flashfit::ForwardEngine::kMma, flashfit::DType::kBF16, 64, 64, 64, 64, 4, 2, 2", "sm_75"),
              HasSubstr("bf16 needs compute capability 8.0"));
}

TEST(RefusedKernels, AShapeThatTheKernelCannotHaveIsRefusedByItsRule) {
  // engine, dtype, head_dim, head_dim_v, block_m, block_n, warps, stages, min_blocks: kSound but for one.
  for (const char* config : {"flashfit::ForwardEngine::kMma, flashfit::DType::kF32, 64, 64, 64, 64, 4, 2, 2",
                             "flashfit::ForwardEngine::kMma, flashfit::DType::kF16, 72, 64, 64, 64, 4, 2, 2",
                             "flashfit::ForwardEngine::kMma, flashfit::DType::kF16, 64, 48, 64, 64, 4, 2, 2",
                             "flashfit::ForwardEngine::kMma, flashfit::DType::kF16, 64, 96, 64, 64, 4, 2, 2",
                             "flashfit::ForwardEngine::kMma, flashfit::DType::kF16, 64, 64, 72, 64, 4, 2, 2",
                             "flashfit::ForwardEngine::kMma, flashfit::DType::kF16, 64, 64, 64, 24, 4, 2, 2",
                             "flashfit::ForwardEngine::kMma, flashfit::DType::kF16, 64, 64, 64, 64, 4, 1, 2",
                             "flashfit::ForwardEngine::kMma, flashfit::DType::kF16, 512, 512, 64, 16, 4, 2, 1"})
    EXPECT_THAT(refusal(config, "sm_90"), HasSubstr("forward_config_error")) << config;
  EXPECT_THAT(refusal(kSound, "sm_90", 2), HasSubstr("forward_config_error"));
}

}  // namespace
}  // namespace flashfit
