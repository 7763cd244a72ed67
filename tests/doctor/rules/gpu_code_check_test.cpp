// GPU code of several libraries together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "doctor/facts/add_kernel_names.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/coverage.hpp"
#include "doctor/rules/judge.hpp"
#include "doctor/rules/judged.hpp"
#include "doctor/rules/on_purpose.hpp"

namespace flashfit::doctor {
namespace {

using test::judged;
using test::wheel_target;
using testing::Each;
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

/// A library with a container for each of these.
Binary library_of(const std::string& path, const std::vector<int>& architectures, bool bare = false) {
  Binary binary{.path = path};
  std::uint64_t at = 64;
  for (const int architecture : architectures) {
    Container container{.offset = at, .usual_section = !bare, .image = bare ? at : at + 16, .image_size = 100};
    container.entries.push_back({.target = {.architecture = architecture}});
    binary.containers.push_back(std::move(container));
    at += 1000;
  }
  return binary;
}

/// Without notes.
std::vector<std::string> blamed(const Target& target, const std::string& gpu) {
  std::vector<std::string> lines = judged(check_gpu_code, target, on(gpu));
  std::erase_if(lines, [](const std::string& line) { return line.find(" fits ") != std::string::npos; });
  return lines;
}

TEST(GpuCode, BareCubinsAreNoSourcesOfTheirOwn) {
  // As onnxruntime-gpu's library for Windows has them.
  Binary binary = library_of("a/_C.so", {75, 80, 86, 89}, true);
  EXPECT_EQ(counted_containers(binary), 1U);
  Target target = wheel_target("a-1-cp310-abi3-linux_x86_64.whl", {binary});
  for (const char* const gpu : {"L40", "T4", "A100"}) EXPECT_THAT(blamed(target, gpu), IsEmpty()) << gpu;
  EXPECT_THAT(blamed(target, "V100"),
              ElementsAre("FF101 misfit SASS 7.5, no PTX. V100 is 7.0; 7.5 runs on 7.x from 7.5 on"));
  // Beside fat binaries they are for the GPUs that have one.
  const Binary packed = library_of("a/_C.so", {70, 90});
  target.binaries[0].containers.push_back(packed.containers[0]);
  EXPECT_EQ(counted_containers(target.binaries[0]), 1U);
  EXPECT_THAT(blamed(target, "V100"), IsEmpty());
}

Container& named(Container& container, std::vector<std::string> kernels) {
  container.kernels = std::move(kernels);
  return container;
}

Binary cubin(const std::string& path, int architecture, const std::vector<std::string>& kernels) {
  Binary binary = library_of(path, {architecture});
  binary.kind = BinaryKind::kCubin;
  for (const std::string& name : kernels) binary.kernels.push_back({.name = name});
  return binary;
}

TEST(GpuCode, AContainerWhoseKernelsAreInCubinsIsServed) {
  Target target = wheel_target("a-1-cp310-abi3-linux_x86_64.whl", {library_of("a/_C.so", {90})});
  Binary& library = target.binaries[0];
  named(library.containers[0], {"one", "two"});
  const std::string missed = "FF101 misfit SASS 9.0, no PTX. L40 is 8.9; 9.0 runs on 9.x from 9.0 on";
  EXPECT_THAT(blamed(target, "L40"), ElementsAre(missed));
  for (const int architecture : {80, 86})
    library.containers.push_back(library_of("", {architecture}, true).containers[0]);
  EXPECT_THAT(blamed(target, "L40"),
              ElementsAre("FF102 degraded 1 of 1 containers have no image for L40 (8.9): SASS 9.0, no PTX. L40 is 8.9; "
                          "9.0 runs on 9.x from 9.0 on; without one: one, two; what runs is cubins of other kernels"));
  named(library.containers[1], {"one"});
  EXPECT_EQ(blamed(target, "L40").size(), 1U);
  named(library.containers[2], {"two"});
  EXPECT_THAT(blamed(target, "L40"), IsEmpty());
  EXPECT_EQ(GpuJudge(on("L40").gpus[0], 0, &target).cover(library).summary.best, Best::kSass);
  EXPECT_EQ(blamed(target, "A100").size(), 1U) << "8.6 does not run there";
  library.containers[0].kernels.resize(kMostKernelNames, "one");
  EXPECT_EQ(blamed(target, "L40").size(), 1U) << "it may have more kernels than were read";
}

TEST(GpuCode, CubinsInFilesOfThePackageServeItsLibraries) {
  Target target = wheel_target("a-1-cp310-abi3-linux_x86_64.whl",
                               {library_of("a/_C.so", {90}), cubin("a/k_80.cubin", 80, {"one"})});
  named(target.binaries[0].containers[0], {"one"});
  EXPECT_THAT(blamed(target, "L40"), IsEmpty());
  target.binaries[1].kernels[0].name = "other";
  EXPECT_THAT(blamed(target, "L40"), ElementsAre(testing::StartsWith("FF101 degraded SASS 9.0")));
  target.binaries.push_back(cubin("a/k_86.cubin", 86, {"another"}));
  EXPECT_THAT(blamed(target, "L40"), ElementsAre(testing::StartsWith("FF101 degraded SASS 9.0")));
}

TEST(GpuCode, LooseCubinsForNewerGpusBesideALibraryThatRunsAreOnPurpose) {
  Target target = wheel_target("a-1-cp310-abi3-linux_x86_64.whl",
                               {library_of("a/_C.so", {80}), cubin("a/x.cubin", 90, {}), cubin("a/y.cubin", 100, {})});
  EXPECT_THAT(blamed(target, "L40"), IsEmpty());
  target.binaries[1] = cubin("a/x.cubin", 75, {});
  EXPECT_THAT(blamed(target, "L40"), ElementsAre(testing::StartsWith("FF101 degraded 0 of 2 loose images")));
  target.binaries.erase(target.binaries.begin());
  EXPECT_THAT(blamed(target, "L40"), ElementsAre(testing::StartsWith("FF101 misfit 0 of 2 loose images")));
}

TEST(GpuCode, PackagesThatChooseTheirKernelsLackNothing) {
  const std::string tags = "-py3-none-manylinux_2_28_x86_64.whl";
  for (const char* const name : {"cutensor_cu12-2.8.1", "tensorrt_lean_cu12_libs-11.4.0.106", "lmdeploy-0.18.0",
                                 "cuequivariance_ops_cu12-0.13.0"}) {
    const Target target = wheel_target(name + tags, {library_of("a/x.so", {80, 70}), library_of("a/y_sm90.so", {90})});
    EXPECT_THAT(blamed(target, "L40"), IsEmpty()) << name;
  }
  const Target other = wheel_target("other-1" + tags, {library_of("a/x.so", {80, 70})});
  EXPECT_THAT(blamed(other, "L40"), ElementsAre(testing::StartsWith("FF102 degraded")));
}

TEST(GpuCode, APackageThatDoesWithoutItsLibrariesFits) {
  const std::string name = "-0.18.0-cp310-abi3-manylinux_2_28_x86_64.whl";
  const auto verdict = [&](const std::string& package) {
    Target target = wheel_target(package + name, {library("a/_C_90a.abi3.so", 90, TargetScope::kArchitecture)});
    target.metadata = "Metadata-Version: 2.1\nName: " + package + "\nVersion: 0.18.0\n";
    target.wheel_file = "Wheel-Version: 1.0\nTag: cp310-abi3-manylinux_2_28_x86_64\n";
    return verdict_of(problems_of(target, on("L40")));
  };
  EXPECT_EQ(verdict("torchao"), Verdict::kFits);
  EXPECT_EQ(verdict("xformers"), Verdict::kFits);
  EXPECT_EQ(verdict("other"), Verdict::kMisfit);
  // cuequivariance-ops-torch: kernels for 9.0a beside kernels for 10.0a, each for its GPU alone, and others elsewhere.
  const std::string ops = "cuequivariance_ops_torch_cu12" + name;
  Target each = wheel_target(
      ops, {library("a/ext.so", 90, TargetScope::kArchitecture), library("a/ops.so", 75, TargetScope::kPlain)});
  each.binaries[0].containers.push_back(library("", 100, TargetScope::kArchitecture).containers[0]);
  each.binaries[1].containers[0].entries[0].kind = CodeEntry::Kind::kPtx;
  Question several = on("L40");
  several.gpus.push_back(on("T4").gpus[0]);
  several.gpus.push_back(on("H100").gpus[0]);
  for (const Question& question : {on("L40"), on("T4"), on("H100"), several})
    for (const std::string& line : judged(check_gpu_code, each, question))
      EXPECT_THAT(line, testing::HasSubstr(" fits ")) << "only notes";
  const Target both = wheel_target("xformers" + name, {library("a/_C_90a.abi3.so", 90, TargetScope::kArchitecture)});
  Question two = on("L40");
  two.gpus.push_back(on("H100").gpus[0]);
  for (const std::string& line : judged(check_gpu_code, both, two))
    EXPECT_THAT(line, testing::HasSubstr(" fits ")) << "it serves the other GPU whole";
  // What was built for older GPUs and forgot a newer one is missed there.
  const Target old = wheel_target("torchao" + name, {library("a/_C.abi3.so", 80, TargetScope::kPlain)});
  std::vector<Problem> problems = {{"FF101", Severity::kMisfit, "", "a/_C.abi3.so", ""}};
  soften_on_purpose(old, on("H100"), problems);
  EXPECT_EQ(problems[0].severity, Severity::kDegrades);
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

/// As bitsandbytes has them: a library a CUDA, of which PyTorch's names the one that is loaded.
Target one_library_a_cuda(const std::string& version) {
  std::vector<Binary> binaries;
  for (const auto& [number, toolkit, architecture] :
       {std::tuple{"118", 11080, 80}, {"124", 12040, 80}, {"128", 12080, 120}, {"130", 13000, 120}}) {
    Binary binary =
        library(std::string("bitsandbytes/libbitsandbytes_cuda") + number + ".so", architecture, TargetScope::kPlain);
    binary.containers[0].entries[0].toolkit = toolkit;
    binaries.push_back(std::move(binary));
  }
  return wheel_target("bitsandbytes-" + version + "-py3-none-manylinux_2_24_x86_64.whl", std::move(binaries));
}

std::vector<std::string> stands_against(const Target& target, Question question, const char* torch) {
  if (*torch != '\0') question.torch = read_torch(torch).value();
  std::vector<std::string> lines;
  for (const Problem& p : problems_of(target, question))
    if (p.severity > Severity::kNote && p.code != "FF207")  // it has no metadata
      lines.push_back(p.code + " " + name_of(verdict_of(p.severity)) + " " + p.member + p.message.substr(0, 37));
  return lines;
}

TEST(GpuCode, OfALibraryForEachCudaTheOneThatIsLoadedCounts) {
  const Target target = one_library_a_cuda("0.49.1");
  Question question = on("rtx 5090");
  question.driver = 12080;
  // That of CUDA 13 wants another driver, and nobody loads it here.
  EXPECT_THAT(stands_against(target, question, ""), IsEmpty());
  EXPECT_THAT(stands_against(target, question, "2.7.0+cu128"), IsEmpty());
  EXPECT_THAT(stands_against(target, question, "2.9.0"), IsEmpty()) << "the package index has it for CUDA 12.8";
  // The one that is loaded has no code for the GPU, whatever the others have.
  EXPECT_THAT(stands_against(target, question, "2.6.0+cu124"),
              ElementsAre(testing::StartsWith("FF101 misfit bitsandbytes/libbitsandbytes_cuda124.so")));
  EXPECT_THAT(stands_against(target, question, "2.9.0+cu130"),
              ElementsAre(testing::StartsWith("FF105 misfit bitsandbytes/libbitsandbytes_cuda130.so")));
}

TEST(GpuCode, APyTorchForWhoseCudaThereIsNoLibrary) {
  Question question = on("L40");
  const auto none = ElementsAre("FF707 misfit loads libbitsandbytes_cuda126.so by t");
  EXPECT_THAT(stands_against(one_library_a_cuda("0.49.1"), question, "2.7.0+cu126"), none);
  EXPECT_THAT(stands_against(one_library_a_cuda("0.50.2"), question, "2.7.0+cu126"), IsEmpty())
      << "from 0.50 on the nearest of the same major version is loaded";
  EXPECT_THAT(stands_against(one_library_a_cuda("0.42.0"), question, "2.7.0+cu126"),
              Each(testing::StartsWith("FF101 degraded")))
      << "what older releases load is not known";
  Question driver = on("L40");
  driver.driver = 11080;
  EXPECT_THAT(stands_against(one_library_a_cuda("0.49.1"), driver, ""), IsEmpty());
  driver.driver = 10020;
  EXPECT_FALSE(stands_against(one_library_a_cuda("0.49.1"), driver, "").empty()) << "none fits";
}

}  // namespace
}  // namespace flashfit::doctor
