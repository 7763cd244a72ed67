#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/gpu_names.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/judged.hpp"

namespace flashfit::doctor {
namespace {

using test::judged;
using test::wheel_target;
using testing::ElementsAre;
using testing::IsEmpty;

Target carrying(const std::string& file_name, const std::vector<int>& architectures, CudaVersion toolkit) {
  Target target = wheel_target(file_name, {{.path = "a/_C.so", .machine = "x86_64", .toolkit = toolkit}});
  Container container;
  for (const int architecture : architectures) container.entries.push_back({.target = {.architecture = architecture}});
  target.binaries[0].containers.push_back(container);
  return target;
}

TEST(Mislabelled, CudaOfAnotherMajorVersion) {
  EXPECT_THAT(
      judged(check_mislabelled, carrying("a-1+cu124-cp311-cp311-linux_x86_64.whl", {90}, 13000)),
      ElementsAre("FF223 degraded mislabelled: the file name says CUDA 12.4, its GPU code was made by CUDA 13.0"));
  EXPECT_THAT(judged(check_mislabelled, carrying("a-1+cu124-cp311-cp311-linux_x86_64.whl", {90}, 12080)), IsEmpty())
      << "minor versions go together";
  EXPECT_THAT(judged(check_mislabelled, carrying("nvidia_cufile_cu12-1.13.1.3-py3-none-linux_x86_64.whl", {80}, 11010)),
              IsEmpty())
      << "older code runs wherever newer does";
  Target linked = carrying("a-1+cu130-cp311-cp311-linux_x86_64.whl", {90}, 13000);
  linked.binaries[0].needed = {"libcudart.so.12"};
  EXPECT_THAT(
      judged(check_mislabelled, linked),
      ElementsAre(
          "FF223 degraded mislabelled: the file name says CUDA 13.0, the library needs the runtime of CUDA 12"));
}

TEST(Mislabelled, ArchitecturesThatTheNameClaims) {
  EXPECT_THAT(judged(check_mislabelled, carrying("a-1+cu128.sm120-cp311-cp311-linux_x86_64.whl", {80, 90}, 12080)),
              ElementsAre("FF224 degraded mislabelled: the file name says sm_120, and no GPU code in it is of 12.0"));
  EXPECT_THAT(judged(check_mislabelled, carrying("a-1+sm90.cu128-cp311-cp311-linux_x86_64.whl", {90}, 12080)),
              IsEmpty());
  EXPECT_THAT(judged(check_mislabelled, carrying("a-1+prism80-cp311-cp311-linux_x86_64.whl", {90}, 12080)), IsEmpty());
  EXPECT_THAT(judged(check_mislabelled, carrying("a-1+sm120-cp311-cp311-linux_x86_64.whl", {}, 0)), IsEmpty())
      << "without GPU code the claim is about something else";
}

TEST(Mislabelled, MachinesOfTheTag) {
  const auto lines = [](const std::string& tag, const std::string& machine, bool windows = false) {
    return judged(check_mislabelled, wheel_target("a-1-cp311-cp311-" + tag + ".whl",
                                                  {{.path = "a.so", .machine = machine, .windows = windows}}));
  };
  EXPECT_THAT(lines("manylinux_2_28_x86_64", "aarch64"),
              ElementsAre("FF225 misfit mislabelled: the tag says x86_64, the library is for aarch64"));
  EXPECT_THAT(lines("manylinux_2_28_aarch64", "aarch64"), IsEmpty());
  EXPECT_THAT(lines("win_amd64", "x86_64", true), IsEmpty());
  EXPECT_THAT(lines("win_arm64", "aarch64", true), IsEmpty());
  EXPECT_THAT(lines("any", "x86_64"), IsEmpty());
}

Target cubin(KernelFacts kernel, int architecture = 80) {
  Target target{.target = "k.cubin",
                .file_name = "k.cubin",
                .kind = TargetKind::kCubin,
                .binaries = {{.kind = BinaryKind::kCubin}}};
  Container container;
  container.entries.push_back({.target = {.architecture = architecture}});
  target.binaries[0].containers.push_back(container);
  target.binaries[0].kernels.push_back(std::move(kernel));
  return target;
}

Question for_gpus(const std::vector<std::string>& names) {
  Question question;
  for (const std::string& name : names) question.gpus.push_back({name, name_gpu(name).value()});
  return question;
}

TEST(KernelLimits, StaticSharedMemoryIsToldFromOptIn) {
  const std::string head =
      "FF501 misfit k(): 160 KB (0x28000 bytes) of static shared memory; every GPU's static limit is 48 KB (0xc000)";
  EXPECT_THAT(
      judged(check_kernel_limits, cubin({.name = "_Z1kv", .shared = 0x28000}), for_gpus({"L4", "A100"})),
      ElementsAre(head + "; L4 lets a block opt in to 99 KB of dynamic memory, too little; A100 lets a block opt in to "
                         "163 KB of dynamic memory, enough"));
  EXPECT_THAT(judged(check_kernel_limits, cubin({.name = "_Z1kv", .shared = 0x28000})), ElementsAre(head));
  EXPECT_THAT(judged(check_kernel_limits, cubin({.name = "_Z1kv", .shared = 0xc000})), IsEmpty());
  EXPECT_THAT(judged(check_kernel_limits, cubin({.name = "_Z1kv", .shared = 0xc400}, 90)), IsEmpty())
      << "1 KB of it is the driver's";
}

TEST(KernelLimits, RoomForDynamicSharedMemory) {
  EXPECT_THAT(
      judged(check_kernel_limits, cubin({.name = "k", .shared = 2048}), for_gpus({"L4"})),
      ElementsAre(
          "FF504 fits k: 2 KB of static shared memory leave a launch 97 KB of dynamic memory on L4 (opt-in limit "
          "99 KB)"));
  EXPECT_THAT(judged(check_kernel_limits, cubin({.name = "k"}), for_gpus({"L4"})),
              ElementsAre("FF504 fits k: no static shared memory; a launch may take 99 KB of dynamic memory on L4, "
                          "more than 48 KB by opting in"));
  Target wheel = cubin({.name = "k"});
  wheel.binaries[0].path = "kernels/k.cubin";
  EXPECT_THAT(judged(check_kernel_limits, wheel, for_gpus({"L4"})), IsEmpty()) << "one of thousands";
}

TEST(KernelLimits, RegistersOfABlock) {
  EXPECT_THAT(
      judged(check_kernel_limits, cubin({.name = "k", .registers = 255, .max_threads = 512})),
      ElementsAre(
          "FF502 degraded k: 255 registers a thread are enough for blocks of 256 threads (65536 registers an SM), "
          "and it is declared for 512"));
  EXPECT_THAT(
      judged(check_kernel_limits, cubin({.name = "k", .registers = 128, .max_threads = 512, .exact_threads = true})),
      IsEmpty());
  EXPECT_EQ(
      judged(check_kernel_limits, cubin({.name = "k", .registers = 129, .max_threads = 512, .exact_threads = true}))
          .at(0)
          .rfind("FF502 misfit", 0),
      0U);
  EXPECT_THAT(judged(check_kernel_limits, cubin({.name = "k", .max_threads = 1025})),
              ElementsAre("FF503 degraded k: bounded by 1025 threads a block; every GPU's limit is 1024"));
}

}  // namespace
}  // namespace flashfit::doctor
