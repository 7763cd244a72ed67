// Commands that compile a package, and that install a build of PyTorch: what pip alone would get wrong.
#include "doctor/mends/compile_command.hpp"

#include <gtest/gtest.h>

#include "doctor/mends/torch_install.hpp"

namespace flashfit::doctor {
namespace {

TEST(CompileCommand, APackageOfTheIndexIsCompiledForTheGpusThatAreAskedFor) {
  EXPECT_EQ(compile_command({.name = "ext", .version = "1.2"}, {{8, 9}, {12, 0}}),
            "pip install setuptools wheel packaging ninja && TORCH_CUDA_ARCH_LIST='8.9;12.0' pip install "
            "--no-build-isolation --no-cache-dir --no-binary ext ext==1.2");
  EXPECT_EQ(compile_command({.name = "ext", .version = "1.2", .uses_torch = false}, {}),
            "pip install --no-cache-dir --no-binary ext ext==1.2");
}

TEST(CompileCommand, OfWhatIsInstalledItsOwnSourceIsTaken) {
  EXPECT_EQ(
      compile_command(
          {.name = "ext", .version = "1.2", .origin = "git+https://example.com/ext@abc", .is_installed = true}, {}),
      "pip install setuptools wheel packaging ninja && pip install --no-build-isolation --no-cache-dir "
      "--force-reinstall --no-deps git+https://example.com/ext@abc");
}

TEST(CompileCommand, TheIndexesApexIsAnotherProjectAndWithoutItsOptionsItHasNoKernels) {
  EXPECT_TRUE(knows_source_of("apex"));
  EXPECT_FALSE(knows_source_of("ext"));
  EXPECT_EQ(compile_command({.name = "apex", .version = "0.1"}, {{8, 9}}),
            "pip install setuptools wheel packaging ninja && TORCH_CUDA_ARCH_LIST='8.9' pip install "
            "--no-build-isolation --no-cache-dir -C--build-option=--cpp_ext -C--build-option=--cuda_ext "
            "git+https://github.com/NVIDIA/apex");
}

TEST(CompileCommand, WhatTheIndexHasAsWheelsAloneCannotBeCompiledFromIt) {
  for (const char* package : {"torchvision", "torchrl", "tensordict", "vllm-flash-attn", "lmdeploy"})
    EXPECT_EQ(compile_command({.name = package, .version = "0.24.1"}, {{8, 9}}), "") << package;
  EXPECT_NE(compile_command({.name = "torchvision", .version = "0.24.1", .origin = "/src/vision"}, {{8, 9}}), "");
}

TEST(CompanionInstall, LeavesPyTorchAsItIs) {
  EXPECT_EQ(companion_install("torchvision", "0.24.1", "cu130", true),
            "pip install uv && uv pip install --python python3 --torch-backend=cu130 --no-deps torchvision==0.24.1");
  EXPECT_EQ(companion_install("torchvision", "0.24.1", "", false), "pip install torchvision==0.24.1");
  EXPECT_EQ(companion_install("torchvision", "0.24.1", "git0a1b2c3", true),
            "pip install --no-deps torchvision==0.24.1");
}

TEST(CompileCommand, FlashAttnIsToldItsTargetsByItsOwnVariable) {
  const auto variable = [](const std::set<ComputeCapability>& gpus) {
    const std::string command = compile_command({.name = "flash-attn", .version = "2.8.3"}, gpus);
    const std::size_t at = command.find("FLASH_ATTN_CUDA_ARCHS=");
    return at == std::string::npos ? command : command.substr(at, command.find(' ', at) - at);
  };
  EXPECT_EQ(variable({{8, 9}}), "FLASH_ATTN_CUDA_ARCHS='80'");
  EXPECT_EQ(variable({{8, 0}, {8, 6}, {9, 0}, {12, 1}}), "FLASH_ATTN_CUDA_ARCHS='80;90;120'");
  EXPECT_EQ(variable({{7, 5}}), "") << "no build of it has code for that";
}

TEST(TorchInstall, ALabelledBuildComesFromPyTorchsOwnIndex) {
  EXPECT_EQ(torch_install("2.8.0"), "pip install torch==2.8.0");
  EXPECT_EQ(torch_install("2.6.0+cu124"),
            "pip install uv && uv pip install --python python3 --torch-backend=cu124 torch==2.6.0+cu124");
  EXPECT_EQ(torch_install("2.6.0+cu124", "'my wheel.whl'", "venv3.10"),
            "venv3.10/bin/pip install uv && venv3.10/bin/uv pip install --python venv3.10 --torch-backend=cu124 "
            "torch==2.6.0+cu124 'my wheel.whl'");
}

}  // namespace
}  // namespace flashfit::doctor
