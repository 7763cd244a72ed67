// The probe of the compiler: what kernels rely on is right in its PTX, what is known to be wrong still is, and a
// construct that leaves elements out is counted as such.
#include "runtime/images/build/compiler_probe.hpp"

#include <gtest/gtest.h>

namespace flashfit {
namespace {

Nvrtc compiler() { return Nvrtc::open(NVRTC).value(); }

TEST(CompilerProbe, AllThatKernelsRelyOnIsRight) {
  const Nvrtc nvrtc = compiler();
  int relied_on = 0;
  for (const Construct& construct : constructs()) {
    if (!construct.relied_on) continue;
    const Result<int> right = elements_initialised(construct, nvrtc);
    ASSERT_TRUE(right) << right.error().message;
    EXPECT_EQ(*right, 4) << construct.name;
    ++relied_on;
  }
  EXPECT_GE(relied_on, 10);
}

TEST(CompilerProbe, TheKnownDefectIsRecorded) {
  const Result<std::string> line = probe_compiler(compiler());
  ASSERT_TRUE(line) << line.error().message;
  // A compiler without the defect would be news: docs/nvrtc-array-initialisers.md says that none was found.
  EXPECT_NE(line->find("2 of 4 elements by default member initialisers, two dimensions"), std::string::npos) << *line;
}

TEST(CompilerProbe, AnElementWithoutItsValueIsMissed) {
  const Nvrtc nvrtc = compiler();
  EXPECT_EQ(*elements_initialised({"three", "for (int i = 0; i < 3; ++i) out[i] = value;", true}, nvrtc), 3);
  EXPECT_EQ(
      *elements_initialised({"another", "for (int i = 0; i < 4; ++i) out[i] = i == 2 ? 1.f : value;", true}, nvrtc), 3);
  EXPECT_EQ(*elements_initialised(
                {"none", "float r[2][2]; for (int i = 0; i < 4; ++i) out[i] = r[i / 2][i % 2];", true}, nvrtc),
            0);
}

TEST(CompilerProbe, WhatDoesNotCompileIsNamed) {
  const Result<int> refused = elements_initialised({"nonsense", "int x = ;", true}, compiler());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.rfind("nonsense: ", 0), 0u) << refused.error().message;
}

}  // namespace
}  // namespace flashfit
