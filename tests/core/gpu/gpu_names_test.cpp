#include "core/gpu/gpu_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/gpu/gpu.hpp"
#include "core/gpu/gpu_key.hpp"
#include "core/gpu/limits.hpp"

namespace flashfit {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string found(std::string_view text) {
  const auto gpu = name_gpu(text);
  return gpu ? gpu->name + " " + gpu->cc.str() : gpu.error().message;
}

TEST(GpuNames, AreTakenAsPeopleAndDriversWriteThem) {
  const std::pair<const char*, const char*> names[] = {
      {"L40", "L40 8.9"},
      {"rtx 4090", "RTX 4090 8.9"},
      {"H100 PCIe", "H100 9.0"},
      {"NVIDIA H100 NVL", "H100 9.0"},
      {"NVIDIA GeForce RTX 4090 Laptop GPU", "RTX 4090 8.9"},
      {"NVIDIA GeForce RTX 3080 Ti Laptop GPU", "RTX 3080 Ti 8.6"},
      {"GeForce RTX 2080 with Max-Q Design", "RTX 2080 7.5"},
      {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100 8.0"},
      {"NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada 8.9"},
      {"NVIDIA RTX 4000 SFF Ada Generation", "RTX 4000 Ada 8.9"},
      {"Quadro RTX 6000", "Quadro RTX 6000 7.5"},
      {"NVIDIA RTX PRO 4500 Blackwell", "RTX PRO 4500 12.0"},
      {"Tesla P100-PCIE-16GB", "P100 6.0"},
      {"Tesla P40", "P40 6.1"},
      {"NVIDIA A10G", "A10G 8.6"},
      {"Jetson Orin Nano", "Jetson Orin Nano 8.7"},
      {"Jetson AGX Orin", "Orin 8.7"},
      {"NVIDIA B200", "B200 10.0"},
      {"4090", "RTX 4090 8.9"},
      {"1080 ti", "GTX 1080 Ti 6.1"},
      {"A6000", "RTX A6000 8.6"},
      {"PRO 6000", "RTX PRO 6000 12.0"},
      {"NVIDIA GeForce MX450", "MX450 7.5"},
      {"GeForce MX570", "MX570 8.6"},
      {"NVIDIA GeForce RTX 2050", "RTX 2050 8.6"},
      {"GTX 1630", "GTX 1630 7.5"},
      {"NVIDIA GeForce GTX TITAN X", "GTX Titan X 5.2"},
      {"NVIDIA TITAN X (Pascal)", "Titan X (Pascal) 6.1"},
      {"Quadro T2000 with Max-Q Design", "Quadro T2000 7.5"},
      {"NVIDIA T1000 8GB", "T1000 7.5"},
      {"NVIDIA RTX 500 Ada Generation Laptop GPU", "RTX 500 Ada 8.9"},
      {"NVIDIA RTX 3500 Ada Generation Laptop GPU", "RTX 3500 Ada 8.9"},
      {"NVIDIA RTX A500 Laptop GPU", "RTX A500 8.6"},
      {"NVIDIA RTX PRO 1000 Blackwell Generation Laptop GPU", "RTX PRO 1000 12.0"},
      {"GRID A100-10C", "A100 8.0"},
      {"NVIDIA A100-1-5C", "A100 8.0"},
      {"NVIDIA A40-8Q", "A40 8.6"},
      {"L40S-48Q", "L40S 8.9"},
      {"GRID T4-2B", "T4 7.5"},
      {"NVIDIA RTX6000-Ada-48Q", "RTX 6000 Ada 8.9"},
      {"8.9", "compute capability 8.9 8.9"},
      {"sm_89", "compute capability 8.9 8.9"},
      {"SM120", "compute capability 12.0 12.0"},
      {"compute_90a", "compute capability 9.0 9.0"},
      {"sm_100f", "compute capability 10.0 10.0"},
      {" cc 10.3 ", "compute capability 10.3 10.3"},
      {"10.1", "compute capability 10.1 10.1"},
  };
  for (const auto& [given, expected] : names) EXPECT_EQ(found(given), expected) << given;
}

TEST(GpuNames, RefusalsSayWhatIsNear) {
  EXPECT_EQ(found("RTX 4095"), "gpu 'RTX 4095': not known; did you mean RTX 4090?");
  EXPECT_THAT(found("RTX 6000"),
              HasSubstr("RTX A6000, RTX 6000 Ada, RTX PRO 6000, Quadro M6000, Quadro P6000, Quadro RTX 6000?"));
  EXPECT_THAT(found("A101"), HasSubstr("A100"));
  EXPECT_THAT(found("6000"), HasSubstr("RTX A6000")) << "of several lines and capabilities";
  EXPECT_EQ(found("89"), "gpu '89': not known; did you mean 8.9?");
  EXPECT_EQ(found("9.9"), "gpu '9.9': no GPU has this compute capability");
  EXPECT_EQ(found("sm_99"), "gpu 'sm_99': no GPU has this compute capability");
  for (const char* name : {"", " ", "Radeon VII", "nvidia", "89", "sm_", "8.", ".9", "80GB", "8.99", "sm_8.9.1"})
    EXPECT_THAT(found(name), HasSubstr("not known; ")) << name;
  EXPECT_THAT(found(std::string(5000, 'L')), HasSubstr("longer than 100"));
  EXPECT_THAT(found("\x1b[2J"), HasSubstr("'\\x1b[2J'"));
}

TEST(GpuNames, ArePlannedWithAll) {
  for (const NamedGpu& g : named_gpus()) {
    const auto gpu = gpu_to_plan(g.name);
    ASSERT_TRUE(gpu) << gpu.error().message;
    EXPECT_EQ(gpu->cc, g.cc) << g.name;
    EXPECT_THAT(gpu->name, StartsWith(g.name));
    if (max_shared_bytes(g.cc.decimal()) != 0) {
      EXPECT_EQ(gpu->shared_bytes_block, max_shared_bytes(g.cc.decimal())) << g.name;
    }
  }
  const auto planned = [](const char* name) { return gpu_to_plan(name)->name; };
  EXPECT_EQ(planned("L40"), "L40");
  EXPECT_EQ(planned("sm_89"), "L4") << "as 8.9 is";
  EXPECT_EQ(planned("RTX 4080"), "RTX 4080 (figures of RTX 4090)");
  EXPECT_EQ(planned("RTX 3060"), "RTX 3060 (figures of RTX 3090)");
  EXPECT_EQ(planned("rtx a6000"), "RTX A6000 (figures of RTX 3090)");
  EXPECT_EQ(planned("A10G"), "A10G (figures of A10)");
  EXPECT_EQ(planned("H100 PCIe"), "H100 PCIe (figures of H100)") << "another chip: 114 SMs";
  EXPECT_EQ(planned("10.1"), "compute capability 10.1 (figures of B200)");
  EXPECT_EQ(planned("P100"), "P100 (figures of V100)");
  EXPECT_EQ(gpu_to_plan("L40X").error().message, name_gpu("L40X").error().message);
}

TEST(GpuNames, HaveOneRowAndOneKeyEach) {
  std::map<std::string, std::string> keys;
  for (const NamedGpu& g : named_gpus()) {
    EXPECT_TRUE(keys.emplace(gpu_key(g.name, false), g.name).second) << g.name;
    EXPECT_EQ(name_gpu(g.name)->name, g.name);
    EXPECT_EQ(name_gpu(g.name)->cc, g.cc) << g.name;
  }
  for (const Gpu& g : gpu_table()) EXPECT_EQ(name_gpu(g.name)->cc, g.cc) << g.name;
  EXPECT_GT(keys.size(), gpu_table().size() + 90);
}

}  // namespace
}  // namespace flashfit
