#include "doctor/gpu_code/what_runs_where.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/gpu_code/toolkit_versions.hpp"

namespace flashfit::doctor {
namespace {

using testing::HasSubstr;
using Kind = CodeEntry::Kind;

constexpr int kGpus[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};

ComputeCapability cc(int decimal) { return {decimal / 10, decimal % 10}; }

// "90a" -> SASS, "90a+" -> PTX.
CodeEntry entry(std::string text) {
  CodeEntry e;
  if (text.back() == '+') {
    e.kind = Kind::kPtx;
    text.pop_back();
  }
  if (text.back() == 'a' || text.back() == 'f') {
    e.target.scope = text.back() == 'a' ? TargetScope::kArchitecture : TargetScope::kFamily;
    text.pop_back();
  }
  e.target.architecture = std::stoi(text);
  return e;
}

Machine on(int gpu, CudaVersion driver = 0) { return {"GPU", cc(gpu), driver}; }

// Every GPU that each target runs on, written out: NVIDIA's compatibility guides for each generation, the PTX ISA
// manual on "a" and "f", PyTorch's rules on integrated GPUs.
TEST(WhatRunsWhere, EveryTargetOnEveryGpu) {
  const std::pair<const char*, const char*> targets[] = {
      {"50", "50 52"},
      {"52", "52"},
      {"53", "53"},
      {"60", "60 61"},
      {"61", "61"},
      {"62", "62"},
      {"70", "70 75"},
      {"72", "72"},
      {"75", "75"},
      {"80", "80 86 89"},
      {"86", "86 89"},
      {"87", "87"},
      {"89", "89"},
      {"90", "90"},
      {"90a", "90"},
      {"100", "100 103"},
      {"100a", "100"},
      {"100f", "100 103"},
      {"101", "110"},
      {"101a", "110"},
      {"101f", "110"},
      {"103", "103"},
      {"103a", "103"},
      {"103f", "103"},
      {"110", "110"},
      {"110a", "110"},
      {"110f", "110"},
      {"120", "120 121"},
      {"120a", "120"},
      {"120f", "120 121"},
      {"121", "121"},
      {"121a", "121"},
      {"121f", "121"},
      {"50+", "50 52 53 60 61 62 70 72 75 80 86 87 89 90 100 103 110 120 121"},
      {"75+", "75 80 86 87 89 90 100 103 110 120 121"},
      {"80+", "80 86 87 89 90 100 103 110 120 121"},
      {"90+", "90 100 103 110 120 121"},
      {"90a+", "90"},
      {"100f+", "100 103"},
      {"101+", "110 120 121"},
      {"120+", "120 121"},
      {"120a+", "120"},
      {"120f+", "120 121"},
  };
  for (const auto& [target, gpus] : targets) {
    std::string ran;
    for (const int gpu : kGpus) {
      const Answer answer = runs(entry(target), on(gpu));
      EXPECT_FALSE(answer.reason.empty());
      if (answer.best == Best::kNo) continue;
      if (!ran.empty()) ran += ' ';
      ran += std::to_string(gpu);
      EXPECT_EQ(answer.best == Best::kPtxJit, std::string_view(target).ends_with('+')) << target;
    }
    EXPECT_EQ(ran, gpus) << target;
  }
}

TEST(WhatRunsWhere, PtxNeedsTheDriverOfItsIsa) {
  const std::tuple<int, CudaVersion> first[] = {{70, 11000}, {78, 11080}, {80, 12000}, {85, 12050},
                                                {86, 12070}, {87, 12080}, {88, 12090}, {90, 13000},
                                                {91, 13010}, {92, 13020}, {93, 13030}};
  for (const auto& [isa, cuda] : first) {
    CodeEntry e = entry("80+");
    e.ptx_isa = isa;
    EXPECT_EQ(runs(e, on(80, cuda)).best, Best::kPtxJit) << isa;
    EXPECT_EQ(runs(e, on(80, cuda - 10)).best, Best::kNo) << isa;
    EXPECT_EQ(runs(e, on(80)).best, Best::kPtxJit) << isa;
  }
  CodeEntry e = entry("80+");
  e.ptx_isa = 92;
  EXPECT_EQ(runs(e, on(80, 13000)).reason,
            "PTX ISA 9.2 needs a driver for CUDA 13.2; yours is for 13.0 and takes up to 9.0");
  EXPECT_EQ(newest_ptx_for(12060), 85);
  EXPECT_EQ(newest_ptx_for(8000), 0);
  EXPECT_EQ(first_cuda_for_ptx(50), 0);
}

TEST(WhatRunsWhere, SassNeedsADriverOfItsToolkitsMajor) {
  CodeEntry e = entry("80");
  e.toolkit = 12090;
  EXPECT_EQ(runs(e, on(80, 12000)).best, Best::kSass);
  EXPECT_EQ(runs(e, on(80, 13000)).best, Best::kSass);
  EXPECT_EQ(runs(e, on(80, 11080)).reason,
            "8.0 was made by CUDA 12.9, which needs a driver for CUDA 12.0 or later; yours is for 11.8");
}

TEST(WhatRunsWhere, ZstdNeedsDriver550) {
  for (const char* target : {"80", "80+"}) {
    CodeEntry e = entry(target);
    e.zstd = true;
    EXPECT_EQ(runs(e, on(80, 12030)).best, Best::kNo);
    EXPECT_THAT(runs(e, on(80, 12020)).reason, HasSubstr("ZSTD entry; drivers before 550 (CUDA 12.4) cannot read it"));
    EXPECT_NE(runs(e, on(80, 12040)).best, Best::kNo);
    EXPECT_NE(runs(e, on(80)).best, Best::kNo);
  }
}

TEST(WhatRunsWhere, TheDriverMustHaveTheGpu) {
  EXPECT_EQ(runs(entry("120"), on(120, 12080)).best, Best::kSass);
  EXPECT_EQ(runs(entry("120"), on(120, 12060)).reason,
            "GPU (12.0) needs a driver for CUDA 12.8 or later (branch 570); yours is for 12.6");
  EXPECT_EQ(runs(entry("70"), on(70, 13000)).best, Best::kSass);
  EXPECT_EQ(runs(entry("70"), on(70, 13010)).reason,
            "GPU (7.0) is not in drivers after branch 580 (CUDA 13.0); yours is for 13.1");
  EXPECT_EQ(driver_misfit(on(75, 13020)), "");
  EXPECT_EQ(driver_misfit(on(35, 11040)), "");
  EXPECT_NE(driver_misfit(on(35, 12000)), "");
  EXPECT_EQ(driver_misfit(on(120)), "");
}

TEST(WhatRunsWhere, OfAContainerTheBestCounts) {
  const auto best = [](const std::vector<CodeEntry>& entries, const Machine& machine) {
    const Answer answer = best_of(entries, machine);
    return std::string(name_of(answer.best)) + ": " + answer.reason;
  };
  EXPECT_EQ(best({entry("80"), entry("90a"), entry("80+")}, {"L40", cc(89)}), "sass: SASS 8.0 runs on 8.9");
  EXPECT_EQ(best({entry("90a"), entry("80+")}, {"L40", cc(89)}),
            "ptx-jit: PTX 8.0 is compiled by the driver at the first use");
  EXPECT_EQ(best({entry("90a")}, {"RTX 5090", cc(120)}),
            "no: SASS 9.0a, no PTX. RTX 5090 is 12.0; 9.0a runs only on 9.0");
  EXPECT_EQ(
      best({entry("86"), entry("90a"), entry("90a"), entry("100f"), entry("90a+")}, {"T4", cc(75)}),
      "no: SASS 8.6 9.0a 10.0f, PTX 9.0a. T4 is 7.5; 8.6 runs on 8.x from 8.6 on; 9.0a runs only on 9.0; 10.0f runs "
      "only on 10.0 and 10.3; 9.0a+PTX runs only on 9.0");
  EXPECT_EQ(
      best({entry("87"), entry("101a")}, {"A100", cc(80)}),
      "no: SASS 8.7 10.1a, no PTX. A100 is 8.0; 8.7 runs only on 8.7; 10.1a runs only on 11.0 (10.1 before CUDA 13)");
  EXPECT_EQ(best({}, {"A100", cc(80)}), "no: no GPU code");
  CodeEntry zstd = entry("80");
  zstd.zstd = true;
  EXPECT_EQ(best({zstd, entry("80+")}, {"A100", cc(80), 12020}).substr(0, 7), "ptx-jit");
  EXPECT_EQ(best({entry("70"), zstd, entry("90")}, {"A100", cc(80), 12020}),
            "no: SASS 7.0 8.0 9.0, no PTX. A100 is 8.0; 8.0 is a ZSTD entry; drivers before 550 (CUDA 12.4) cannot "
            "read it, and yours is for CUDA 12.2")
      << "the others are no reason";
  CodeEntry linked = entry("80+");
  linked.relocatable = true;
  EXPECT_THAT(best({linked}, {"H100", cc(90)}),
              HasSubstr("ptx-jit: PTX 8.0 is compiled and linked by the driver, if every"));
}

// The two origin cases about images.
TEST(WhatRunsWhere, SassOf80RunsOnAnL40AndHoppersOwnDoesNot) {
  const std::vector<CodeEntry> flash_attn = {entry("80"), entry("90")}, hopper = {entry("90a")};
  EXPECT_EQ(best_of(flash_attn, {"L40", cc(89)}).best, Best::kSass);
  EXPECT_EQ(best_of(hopper, {"L40", cc(89)}).reason, "SASS 9.0a, no PTX. L40 is 8.9; 9.0a runs only on 9.0");
}

TEST(ToolkitVersions, NameTheDriverThatAToolkitNeeds) {
  EXPECT_EQ(toolkit_misfit(12040, 11070), "cudart 12 needs driver 525.60.13 or later; yours is for CUDA 11.7");
  EXPECT_EQ(toolkit_misfit(12040, 11070, true), "cudart 12 needs driver 527.41 or later; yours is for CUDA 11.7");
  EXPECT_EQ(toolkit_misfit(13000, 12090, true),
            "cudart 13 needs a driver for CUDA 13.0 or later; yours is for CUDA 12.9");
  EXPECT_EQ(toolkit_misfit(12090, 12000), "");
  EXPECT_EQ(toolkit_misfit(0, 12000), "");
  EXPECT_EQ(toolkit_misfit(13000, 0), "");
  EXPECT_EQ(first_driver_for_toolkit(13), "580.65.06");
  EXPECT_EQ(first_driver_for_toolkit(7), "");
  EXPECT_EQ(bundled_driver(12090), "575.51.03");
  EXPECT_EQ(bundled_driver(12070), "");
}

}  // namespace
}  // namespace flashfit::doctor
