// GPU code of several libraries together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/all_checks.hpp"
#include "inspect/judged.hpp"

namespace flashfit::inspect {
namespace {

using test::judged;
using test::wheel_target;
using testing::ElementsAre;
using testing::IsEmpty;

Binary library(const std::string& path, int architecture, TargetScope scope) {
  Binary binary{.path = path};
  Container container;
  container.entries.push_back({.target = {.architecture = architecture, .scope = scope}});
  binary.containers.push_back(std::move(container));
  return binary;
}

Question on(const std::string& gpu) {
  Question question;
  question.gpus.push_back({gpu, name_gpu(gpu).value()});
  return question;
}

TEST(GpuCode, AWheelOfALibraryForEachGpuRunsInPart) {
  Target target = wheel_target(
      "a-1-cp310-abi3-linux_x86_64.whl",
      {library("a/_C.abi3.so", 80, TargetScope::kPlain), library("a/_C_90a.abi3.so", 90, TargetScope::kArchitecture)});
  EXPECT_THAT(judged(check_gpu_code, target, on("L40")),
              ElementsAre("FF101 degraded SASS 9.0a, no PTX. L40 is 8.9; 9.0a runs only on 9.0"));
  EXPECT_THAT(judged(check_gpu_code, target, on("T4")),
              ElementsAre("FF101 misfit SASS 8.0, no PTX. T4 is 7.5; 8.0 runs on 8.x from 8.0 on",
                          "FF101 misfit SASS 9.0a, no PTX. T4 is 7.5; 9.0a runs only on 9.0"));
  target.kind = TargetKind::kDirectory;
  EXPECT_THAT(judged(check_gpu_code, target, on("L40")),
              ElementsAre("FF101 misfit SASS 9.0a, no PTX. L40 is 8.9; 9.0a runs only on 9.0"))
      << "another package's library mends nothing";
  target.binaries.pop_back();
  EXPECT_THAT(judged(check_gpu_code, target, on("L40")), IsEmpty());
}

}  // namespace
}  // namespace flashfit::inspect
