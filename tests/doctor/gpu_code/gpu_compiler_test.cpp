// The CUDA that a compiler of GPU code tells, and which packages compile with one that they bring.
#include "doctor/gpu_code/gpu_compiler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/facts/binary_format.hpp"
#include "doctor/facts/read_binary.hpp"
#include "doctor/made/library.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/judged.hpp"

namespace flashfit::doctor {
namespace {

using test::judged;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// As ptxas has it, behind a format that tells nothing.
std::vector<std::byte> texts(const std::string& release) {
  return test::MadeBytes()
      .zeros(3)
      .add("Cuda compilation tools, release %d.%d, V%s")
      .zeros(50)
      .add("Cuda compilation tools, release " + release + ", V" + release + ".93")
      .zeros(50)
      .bytes();
}

CudaVersion told_by(Bytes bytes, std::size_t chunk) {
  CompilerRelease release;
  for (std::size_t at = 0; at < bytes.size(); at += chunk)
    release.feed(at, bytes.subspan(at, std::min(chunk, bytes.size() - at)));
  return release.version();
}

TEST(CompilerRelease, IsToldAlikeInChunksOfAnySize) {
  const auto bytes = texts("12.8");
  for (std::size_t chunk = 1; chunk <= bytes.size(); ++chunk) EXPECT_EQ(told_by(bytes, chunk), 12080) << chunk;
}

TEST(CompilerRelease, IsNoneWhereTheTextsAreOthers) {
  for (const char* const other : {"%d.%d", "12", "12.", "12.10", "4.0", "100.0", "-12.8", "12.-8", ""})
    EXPECT_EQ(told_by(texts(other), 1 << 20), 0) << other;
}

TEST(CompilerRelease, IsNotPutTogetherOverAGap) {
  const auto bytes = texts("12.8");
  const std::size_t cut = bytes.size() - 80;  // in the second text
  CompilerRelease release;
  release.feed(0, Bytes(bytes).first(cut));
  release.feed(cut + 4096, Bytes(bytes).subspan(cut));
  EXPECT_EQ(release.version(), 0);
}

Binary compiler(const std::string& path, const std::string& release) {
  const auto bytes = test::MadeLibrary{.data = texts(release)}.bytes();
  const MemorySource source(bytes);
  FactsBudget budget;
  return read_binaries(SourceContent(source), path, budget).value().at(0);
}

TEST(CompilerRelease, IsReadOfProgramsThatAreNamedAsOne) {
  EXPECT_EQ(compiler("triton/backends/nvidia/bin/ptxas", "12.8").compiler, 12080);
  EXPECT_EQ(compiler("nvidia/cuda_nvrtc/lib/libnvrtc.so.13", "13.0").compiler, 13000);
  EXPECT_EQ(compiler("triton/backends/nvidia/bin/cuobjdump", "12.8").compiler, 0);
}

TEST(BrokenByName, CodeThatIsEmpty) {
  for (const char* const path : {"triton/backends/nvidia/bin/ptxas", "bin/ptxas.exe", "k.cubin", "k.fatbin"})
    EXPECT_THAT(broken_by_name(path, {}), testing::StartsWith("malformed: empty")) << path;
  for (const char* const path : {"words.so", "py.typed", "bin/other"}) EXPECT_EQ(broken_by_name(path, {}), "") << path;
  const auto script = texts("#!/bin/sh");
  EXPECT_EQ(broken_by_name("bin/ptxas", script), "") << "it may start another";
}

Question on(const std::vector<std::string>& gpus) {
  Question question;
  for (const std::string& gpu : gpus) question.gpus.push_back({gpu, name_gpu(gpu).value()});
  return question;
}

std::vector<std::string> of_triton(const std::vector<Binary>& compilers, const Question& question,
                                   const std::string& name = "triton-3.5.1-cp311-cp311-linux_x86_64.whl") {
  return judged(check_bundled_ptxas, test::wheel_target(name, compilers), question);
}

const std::string kBin = "triton/backends/nvidia/bin/";

TEST(BundledPtxas, MustKnowTheGpu) {
  const std::vector<Binary> compilers = {compiler(kBin + "ptxas", "12.8"), compiler(kBin + "cuobjdump", "13.0")};
  EXPECT_THAT(of_triton(compilers, on({"RTX 5090", "H100"})), IsEmpty());
  EXPECT_THAT(of_triton(compilers, on({"H100", "DGX Spark"})),
              ElementsAre("FF705 misfit compiles with its own ptxas of CUDA 12.8, which does not know DGX Spark (12.1) "
                          "(CUDA 12.9 is the first)"));
  EXPECT_THAT(of_triton({compiler(kBin + "ptxas", "13.0")}, on({"7.0"})),
              ElementsAre(HasSubstr("of CUDA 13.0, which does not know 7.0 (dropped after CUDA 12.9)")));
}

TEST(BundledPtxas, IsTheOneThatKnowsTheGpuOfTwo) {
  const std::vector<Binary> compilers = {compiler(kBin + "ptxas", "12.9"), compiler(kBin + "ptxas-blackwell", "13.4")};
  for (const char* const gpu : {"V100", "DGX Spark", "11.0"})
    EXPECT_THAT(of_triton(compilers, on({gpu})), IsEmpty()) << gpu;
}

TEST(BundledPtxas, SaysNothingWhereNothingIsKnown) {
  const std::vector<Binary> compilers = {compiler(kBin + "ptxas", "12.8")};
  EXPECT_THAT(of_triton(compilers, on({})), IsEmpty());
  Question of_the_future;
  of_the_future.gpus.push_back({"99.0", {"99.0", {99, 0}}});
  EXPECT_THAT(of_triton(compilers, of_the_future), IsEmpty()) << "a GPU of no toolkit's table";
  EXPECT_THAT(of_triton({compiler(kBin + "ptxas", "%d.%d")}, on({"DGX Spark"})), IsEmpty());
  EXPECT_THAT(of_triton(compilers, on({"DGX Spark"}), "other-1.0-py3-none-any.whl"), IsEmpty())
      << "who only brings it may never call it";
  EXPECT_THAT(of_triton(compilers, on({"DGX Spark"}), "triton_windows-3.8.0.post29-cp311-cp311-win_amd64.whl"),
              testing::SizeIs(1));
}

}  // namespace
}  // namespace flashfit::doctor
