#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/gpu.hpp"

namespace flashfit {
namespace {

using testing::HasSubstr;

TEST(GpuTable, IsSortedAndSound) {
  const auto table = gpu_table();
  ASSERT_EQ(table.size(), 25u);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Gpu& g = table[i];
    SCOPED_TRACE(g.name);
    EXPECT_TRUE(i == 0 || table[i - 1].cc < g.cc || (table[i - 1].cc == g.cc && table[i - 1].name < g.name));
    EXPECT_EQ(g.shared_bytes_block, max_shared_bytes(g.cc.decimal()));
    EXPECT_GT(g.shared_bytes_block, kStaticSharedBytes);
    EXPECT_LE(g.shared_bytes_block + (g.cc.major >= 8 ? kReservedSharedBytes : 0), g.shared_bytes_sm);
    EXPECT_EQ(g.threads_sm % 128, 0);
    EXPECT_GE(g.blocks_sm, 16);
    EXPECT_EQ(g.registers_sm, 65536);
    EXPECT_GT(g.sms, 0);
    EXPECT_GT(g.dram_gb_s, 100);
  }
}

// NVIDIA's published dense 16-bit TFLOP/s with fp32 accumulation, which the table's columns must multiply to.
TEST(GpuTable, RatesGiveThePublishedTflops) {
  const std::pair<const char*, double> published[] = {{"V100", 125},         {"T4", 65},
                                                      {"RTX 2080 Ti", 53.8}, {"A100", 312},
                                                      {"A30", 165},          {"A10", 125},
                                                      {"A40", 149.7},        {"RTX 3090", 71},
                                                      {"L4", 121},           {"L40", 181},
                                                      {"L40S", 362},         {"RTX 4090", 165.2},
                                                      {"RTX 5090", 209.5},   {"RTX PRO 6000", 503.8}};
  for (const auto& [name, tflops] : published) {
    const Gpu g = find_gpu(name).value();
    EXPECT_NEAR(g.sms * g.clock_ghz * g.mma_flops_clk_sm * 1e-3, tflops, 0.02 * tflops) << name;
  }
}

TEST(FindGpu, TakesNamesAsPeopleAndDriversWriteThem) {
  const std::pair<const char*, const char*> names[] = {{"L4", "L4"},
                                                       {"l40s", "L40S"},
                                                       {"rtx 4090", "RTX 4090"},
                                                       {"RTX-4090", "RTX 4090"},
                                                       {"rtx4090", "RTX 4090"},
                                                       {"NVIDIA GeForce RTX 4090", "RTX 4090"},
                                                       {"NVIDIA H100 80GB HBM3", "H100"},
                                                       {"Tesla T4", "T4"},
                                                       {"Tesla V100-SXM2-16GB", "V100"},
                                                       {"NVIDIA A100-SXM4-80GB", "A100 80GB"},
                                                       {"NVIDIA A100-SXM4-40GB", "A100"},
                                                       {"a100 80gb", "A100 80GB"},
                                                       {"NVIDIA GH200 480GB", "GH200"},
                                                       {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000"},
                                                       {"NVIDIA GB10", "DGX Spark"},
                                                       {"dgx-spark", "DGX Spark"},
                                                       {"RTX 20", "RTX 2080 Ti"},
                                                       {"rtx30", "RTX 3090"},
                                                       {"RTX 40", "RTX 4090"},
                                                       {"RTX 50", "RTX 5090"},
                                                       {"Jetson AGX Orin", "Orin"}};
  for (const auto& [given, expected] : names) {
    const auto gpu = find_gpu(given);
    ASSERT_TRUE(gpu) << given << ": " << gpu.error().message;
    EXPECT_EQ(gpu->name, expected) << given;
  }
}

TEST(FindGpu, TakesItsOwnNamesAndCapabilities) {
  for (const Gpu& g : gpu_table()) {
    EXPECT_EQ(find_gpu(g.name)->name, g.name);
    EXPECT_EQ(find_gpu(g.cc.str())->cc, g.cc);
  }
  EXPECT_EQ(find_gpu("8.9")->name, "L4");
  EXPECT_EQ(find_gpu("12.1")->name, "DGX Spark");
}

TEST(FindGpu, RefusesOtherGpusWithNamesNearOrAll) {
  const auto message = [](const char* name) {
    const auto gpu = find_gpu(name);
    return gpu ? "found " + gpu->name : gpu.error().message;
  };
  EXPECT_EQ(message("L5"), "gpu 'L5' is not in the table; near: L4");
  EXPECT_THAT(message("H100 PCIe"), HasSubstr("near: H100"));  // another chip: 114 SMs
  EXPECT_THAT(message("RTX 4090 Laptop"), HasSubstr("near: RTX 4090"));
  EXPECT_THAT(message("A1000"), HasSubstr("A100"));
  for (const char* name : {"", " ", "Radeon", "9.9", "nvidia", "80GB"}) {
    EXPECT_THAT(message(name), HasSubstr("known: V100, RTX 2080 Ti")) << name;
    EXPECT_THAT(message(name), HasSubstr("compute capability")) << name;
  }
  EXPECT_EQ(find_gpu("L5").error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace flashfit
