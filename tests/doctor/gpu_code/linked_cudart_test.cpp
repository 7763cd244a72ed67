#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/driver_versions.hpp"
#include "doctor/facts/read_binary.hpp"
#include "doctor/gpu_code/code_search.hpp"
#include "doctor/made/library.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/judged.hpp"

namespace flashfit::doctor {
namespace {

using test::MadeBytes;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kError = "CUDA driver version is insufficient for CUDA runtime version";
constexpr const char* kOf12 = "cudaGraphInstantiateWithParams_ptsz";
constexpr const char* kOf13 = "cudaDeviceGetHostAtomicCapabilities";

/// Texts as a linker lays them out.
std::vector<std::byte> texts(const std::vector<std::string>& list) {
  MadeBytes bytes;
  for (const std::string& text : list) bytes.align(8).add("short").u8(0).align(8).add(text).u8(0);
  return bytes.zeros(100).bytes();
}

int cudart_in(Bytes bytes, std::size_t chunk = 1 << 20) {
  CodeSearch search(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += chunk)
    EXPECT_TRUE(search.feed(at, bytes.subspan(at, std::min(chunk, bytes.size() - at))).has_value());
  return search.finish()->cudart;
}

TEST(LinkedCudart, IsToldByItsTexts) {
  EXPECT_EQ(cudart_in(texts({kError, kOf12})), 12);
  EXPECT_EQ(cudart_in(texts({kOf13, kOf12, kError})), 13);
  EXPECT_EQ(cudart_in(texts({kError})), 0) << "of CUDA 11, which has no text of its own";
  EXPECT_EQ(cudart_in(texts({kOf12, kOf13})), 0) << "names alone: of a library that looks them up, or profiles them";
  EXPECT_EQ(cudart_in(texts({std::string(kError) + ": see", kOf12})), 0) << "another text that begins so";
}

TEST(LinkedCudart, IsToldAlikeInChunksOfAnySize) {
  const auto bytes = texts({kOf12, kOf13, kError});
  for (std::size_t chunk = 1; chunk < bytes.size(); ++chunk) EXPECT_EQ(cudart_in(bytes, chunk), 13) << chunk;
}

Target of(const std::vector<std::byte>& bytes) {
  const MemorySource source(bytes);
  FactsBudget budget;
  auto binaries = read_binaries(SourceContent(source), "a/_C.so", budget).value();
  return test::wheel_target("a-1-py3-none-linux_x86_64.whl", std::move(binaries));
}

std::vector<std::string> under(const Target& target, CudaVersion driver) {
  Question question;
  question.driver = driver;
  return test::judged(check_driver, target, question);
}

TEST(LinkedCudart, NeedsADriverOfItsMajor) {
  const test::MadeLibrary library{.needed = {"libc.so.6"}, .data = texts({kError, kOf12})};
  const Target target = of(library.bytes());
  EXPECT_THAT(under(target, 11070), ElementsAre("FF105 misfit cudart 12 needs driver 525.60.13 or later; yours is for "
                                                "CUDA 11.7 (it is linked in)"));
  EXPECT_THAT(under(target, 12000), IsEmpty());
  EXPECT_THAT(under(of(test::MadeLibrary{.needed = {"libc.so.6"}}.bytes()), 11070), IsEmpty());
}

}  // namespace
}  // namespace flashfit::doctor
