// Commands that mend a misfit: each is what the same rules let through, and changes the least.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/driver_versions.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/mends/mend.hpp"
#include "doctor/rules/judge.hpp"
#include "doctor/rules/judged.hpp"

namespace flashfit::doctor {
namespace {

using test::wheel_target;
using testing::HasSubstr;
using testing::StartsWith;

/// An extension of PyTorch with machine code for one target.
Target extension(const std::string& name, int architecture, TorchAbi abi = TorchAbi::kEither) {
  Binary binary{.path = "ext/_C.cpython-311-x86_64-linux-gnu.so", .machine = "x86_64"};
  Container container;
  container.entries.push_back({.target = {.architecture = architecture}});
  binary.containers.push_back(std::move(container));
  binary.extension.torch_abi = abi;
  Target target = wheel_target(name + "-cp311-cp311-linux_x86_64.whl", {binary});
  const std::size_t dash = name.find('-');
  target.metadata =
      "Metadata-Version: 2.1\nName: " + name.substr(0, dash) + "\nVersion: " + name.substr(dash + 1) + "\n";
  target.wheel_file = "Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n";
  return target;
}

struct Asked {
  std::string gpu, torch = "", driver = "";
};

/// The command for the target, "" if none is known.
std::string mend(const Target& target, const Asked& asked) {
  Question question;
  question.gpus.push_back({asked.gpu, name_gpu(asked.gpu).value()});
  question.python = parse_python("3.11").value();
  question.platform = parse_platform("linux_x86_64").value();
  if (!asked.torch.empty()) question.torch = read_torch(asked.torch).value();
  if (!asked.driver.empty()) question.driver = parse_driver(asked.driver).value();
  std::vector<TargetReport> reports;
  reports.push_back(judge(target, question));
  EXPECT_NE(reports[0].verdict, Verdict::kFits);
  add_mends(reports, question);
  return reports[0].mend;
}

TEST(Mends, SourcesAreCompiledForTheGpuByTheCompilersOfPyTorchsCuda) {
  const Target target = extension("ext-1.0", 90);
  EXPECT_THAT(mend(target, {"L40", "2.6.0+cu124"}), HasSubstr("TORCH_CUDA_ARCH_LIST='8.9' pip install"));
  EXPECT_THAT(mend(target, {"L40"}), HasSubstr("TORCH_CUDA_ARCH_LIST='8.9' pip install"));
  EXPECT_THAT(mend(target, {"rtx 5090", "2.9.1+cu128"}), HasSubstr("TORCH_CUDA_ARCH_LIST='12.0' pip install"));
  EXPECT_THAT(mend(target, {"rtx 5090", "2.9.1"}), HasSubstr("TORCH_CUDA_ARCH_LIST='12.0' pip install"));
  // CUDA 12.4, which is the package index's for 2.6, knows nothing of 12.0, and CUDA 13 nothing of 7.0.
  EXPECT_EQ(mend(target, {"rtx 5090", "2.6.0+cu124"}), "");
  EXPECT_EQ(mend(target, {"rtx 5090", "2.6.0"}), "");
  EXPECT_EQ(mend(target, {"V100", "2.9.1+cu130"}), "");
  EXPECT_THAT(mend(target, {"V100", "2.9.1+cu126"}), HasSubstr("TORCH_CUDA_ARCH_LIST='7.0' pip install"));
}

TEST(Mends, WhatIsCompiledMustRunUnderTheDriver) {
  const Target target = extension("ext-1.0", 90);
  EXPECT_EQ(mend(target, {"L40", "2.9.1+cu130", "550"}), "");
  EXPECT_THAT(mend(target, {"L40", "2.9.1+cu128", "550"}), HasSubstr("TORCH_CUDA_ARCH_LIST='8.9' pip install"));
}

TEST(Mends, CodeForOneArchitectureAloneIsNotCompiledForAnother) {
  Target target = extension("ext-1.0", 90);
  target.binaries[0].containers[0].entries[0].target.scope = TargetScope::kArchitecture;
  EXPECT_EQ(mend(target, {"L40", "2.9.1+cu128"}), "");
}

TEST(Mends, ThePackageChangesRatherThanPyTorch) {
  Target vision = extension("torchvision-0.23.0", 80, TorchAbi::kCxx11);
  vision.metadata += "Requires-Dist: torch==2.8.0\n";
  EXPECT_EQ(mend(vision, {"L40", "2.9.1"}), "pip install torchvision==0.24.1");
  // Of one whose releases nobody lists, and of which the index has no source, PyTorch is what is left.
  Target graph = extension("pyg_lib-0.4.0", 80, TorchAbi::kCxx11);
  graph.metadata += "Requires-Dist: torch==2.8.0\n";
  EXPECT_THAT(mend(graph, {"L40", "2.9.1"}),
              StartsWith("python3.11 -m venv venv-torch2.8.0 && venv-torch2.8.0/bin/pip install torch==2.8.0 "));
}

TEST(Mends, ACommandThatLeavesAMisfitIsNotPrinted) {
  // PyTorch 2.8.0, which it names, would not change that it has no code for the GPU.
  Target graph = extension("pyg_lib-0.4.0", 90, TorchAbi::kCxx11);
  graph.metadata += "Requires-Dist: torch==2.8.0\n";
  EXPECT_EQ(mend(graph, {"L40", "2.9.1"}), "");
  // Nor is it known that another release has such code: names do not tell.
  for (const int code : {80, 90}) {
    Target vision = extension("torchvision-0.23.0", code, TorchAbi::kCxx11);
    vision.metadata += "Requires-Dist: torch==2.8.0\n";
    EXPECT_EQ(mend(vision, {"L40", "2.9.1"}), code == 80 ? "pip install torchvision==0.24.1" : "");
  }
  // Nor does a release for the PyTorch that is there change that its name is for another Python.
  Target vision = extension("torchvision-0.23.0", 80, TorchAbi::kCxx11);
  vision.metadata += "Requires-Dist: torch==2.8.0\nRequires-Python: >=3.12\n";
  EXPECT_THAT(mend(vision, {"L40", "2.9.1"}), testing::Not(StartsWith("pip install torch==")));
}

}  // namespace
}  // namespace flashfit::doctor
