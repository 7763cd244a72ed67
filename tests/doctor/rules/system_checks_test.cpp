#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/facts/torch_facts.hpp"
#include "doctor/knowledge/cuda_library_rows.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/judged.hpp"
#include "doctor/rules/library_needs.hpp"
#include "doctor/rules/system_libraries.hpp"

namespace flashfit::doctor {
namespace {

using test::judged;
using test::on_platform;
using test::wheel_target;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kOld = "a-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl";

Binary with_versions(std::vector<VersionNeed> versions) {
  return {.path = "a/_C.so", .machine = "x86_64", .versions = std::move(versions)};
}

Target needing_2_34(const std::string& file_name = kOld) {
  return wheel_target(file_name, {with_versions({{"libc.so.6", "GLIBC_2.4", {"x"}},
                                                 {"libc.so.6", "GLIBC_2.34", {"pthread_create", "dlsym"}},
                                                 {"libm.so.6", "GLIBC_2.29", {"exp"}}})});
}

TEST(Libraries, CudnnAndCusolverAreOfTwoCudas) {
  for (const auto& [library, runtime, package] :
       {std::tuple{"libcudnn.so.8", "libcudart.so.11.0", "nvidia-cudnn-cu11<9"},
        std::tuple{"libcudnn.so.8", "libcudart.so.12", "nvidia-cudnn-cu12<9"},
        std::tuple{"libcusolver.so.11", "libcudart.so.11.0", "nvidia-cusolver-cu11"},
        std::tuple{"libcusolver.so.11", "libcudart.so.12", "nvidia-cusolver-cu12"}}) {
    Target target =
        wheel_target("a-1-cp311-cp311-linux_x86_64.whl", {{.path = "a/_C.so", .needed = {runtime, library}}});
    const auto needs = library_needs(target, {});
    ASSERT_EQ(needs.size(), 2U) << library;
    EXPECT_EQ(needs[1].package->package, package);
    // What brings it is named without the bound of its version.
    target.metadata = "Name: a\nVersion: 1\nRequires-Dist: " + std::string(project_of(*needs[1].package)) + "==8.9.7\n";
    EXPECT_EQ(library_needs(target, {}).size(), 1U) << package;
  }
  Target unsaid = wheel_target("a-1-cp311-cp311-linux_x86_64.whl", {{.path = "a/_C.so", .needed = {"libcudnn.so.8"}}});
  Question question;
  question.torch = *read_torch_release("2.0.1+cu118");
  EXPECT_EQ(library_needs(unsaid, question).size(), 0U) << "PyTorch brings that of its CUDA";
}

TEST(RuntimeFloor, IsTheNewestVersion) {
  const Target target = needing_2_34();
  const auto floor = floor_of(target.binaries[0], "GLIBC_");
  ASSERT_TRUE(floor.has_value());
  EXPECT_EQ(floor->version.str(), "2.34") << "2.34 is newer than 2.4";
  EXPECT_THAT(floor->symbols, ElementsAre("pthread_create", "dlsym"));
  EXPECT_EQ(floor_of(with_versions({{"libc.so.6", "GLIBC_ABI_DT_RELR", {}}}), "GLIBC_")->version.str(), "2.36");
  for (const char* odd : {"GLIBC_PRIVATE", "GLIBC_2.x", "GLIBC_2.3.4.5", "GLIBC_", "GLIBCXX_3.4"})
    EXPECT_FALSE(floor_of(with_versions({{"libc.so.6", odd, {}}}), "GLIBC_").has_value()) << odd;
}

TEST(CLibrary, IsJudgedByTheSystem) {
  EXPECT_THAT(judged(check_c_library, needing_2_34(), on_platform("manylinux_2_31_x86_64")),
              ElementsAre("FF320 misfit needs GLIBC_2.34 (pthread_create, dlsym); this system has glibc 2.31",
                          "FF321 fits the tag promises glibc 2.17, but GLIBC_2.34 (pthread_create, dlsym) is needed"));
  EXPECT_THAT(judged(check_c_library, needing_2_34(), on_platform("manylinux_2_35_x86_64")),
              ElementsAre("FF321 fits the tag promises glibc 2.17, but GLIBC_2.34 (pthread_create, dlsym) is needed, "
                          "which this system has"));
  EXPECT_THAT(
      judged(check_c_library, needing_2_34("a-1-cp311-cp311-linux_x86_64.whl"), on_platform("manylinux_2_34_x86_64")),
      IsEmpty());
}

TEST(CLibrary, WhatWouldFitIsOneSystemForAllLibraries) {
  Target target = needing_2_34();
  target.binaries.push_back(with_versions({{"libc.so.6", "GLIBC_2.32", {"x"}}}));
  std::vector<Problem> problems;
  check_c_library(target, on_platform("manylinux_2_31_x86_64"), problems);
  ASSERT_EQ(problems.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(problems[i].fix, "a system with glibc 2.34 or later");
}

TEST(CLibrary, IsJudgedByTheTagWhereTheSystemIsUnknown) {
  EXPECT_THAT(
      judged(check_c_library, needing_2_34()),
      ElementsAre("FF321 degraded the tag promises glibc 2.17, but GLIBC_2.34 (pthread_create, dlsym) is needed"));
  EXPECT_THAT(judged(check_c_library, needing_2_34("a-1-cp311-cp311-manylinux_2_34_x86_64.whl")), IsEmpty());
  EXPECT_THAT(judged(check_c_library, needing_2_34("a-1-cp311-cp311-linux_x86_64.whl")), IsEmpty())
      << "promises nothing";
}

TEST(CxxLibrary, IsJudgedByWhatTheSystemMostlyHas) {
  Target target = wheel_target(kOld, {with_versions({{"libstdc++.so.6", "GLIBCXX_3.4.30", {"f"}}})});
  EXPECT_THAT(
      judged(check_cxx_library, target, on_platform("manylinux_2_31_x86_64")),
      ElementsAre("FF322 unknown needs GLIBCXX_3.4.30 (f), of GCC 12: systems with glibc 2.31 mostly have an older "
                  "libstdc++"));
  EXPECT_THAT(judged(check_cxx_library, target, on_platform("manylinux_2_35_x86_64")), IsEmpty());
  EXPECT_THAT(
      judged(check_cxx_library, target),
      ElementsAre("FF322 degraded needs GLIBCXX_3.4.30 (f), of GCC 12: newer than the tag's glibc 2.17 promises"));
  target.binaries.push_back({.path = "a.libs/libstdc++-1a2b.so.6"});
  EXPECT_THAT(judged(check_cxx_library, target), IsEmpty()) << "it brings its own";
}

TEST(CxxLibrary, VersionsAreThoseOfGcc) {
  EXPECT_EQ(gcc_of_glibcxx(19), "4.8");
  EXPECT_EQ(gcc_of_glibcxx(29), "11");
  EXPECT_EQ(gcc_of_glibcxx(33), "14");
  EXPECT_EQ(gcc_of_glibcxx(90), "past 15");
  EXPECT_EQ(glibcxx_of_glibc(2, 28), 24);
  EXPECT_EQ(glibcxx_of_glibc(2, 4), 0);
  EXPECT_EQ(glibcxx_of_glibc(3, 0), 33);
}

TEST(ExecutableStack, IsRefusedByNewGlibcAlone) {
  const Target target = wheel_target(kOld, {{.path = "a.so", .executable_stack = true}, {.path = "b.so"}});
  EXPECT_THAT(judged(check_executable_stack, target, on_platform("manylinux_2_41_x86_64")),
              ElementsAre("FF323 misfit asks for an executable stack, which this system's glibc refuses"));
  for (const Question& question : {Question{}, on_platform("manylinux_2_40_x86_64")})
    EXPECT_THAT(judged(check_executable_stack, target, question),
                ElementsAre("FF323 fits asks for an executable stack; glibc 2.41 and later refuse to load it"));
}

TEST(Processor, LevelIsTheHighest) {
  Target target = wheel_target(kOld, {{.path = "a.so"}, {.path = "b.so"}, {.path = "c.so"}});
  target.binaries[0].extension.x86_level = 1;
  EXPECT_THAT(judged(check_processor, target), IsEmpty()) << "every x86-64 has that";
  target.binaries[1].extension.x86_level = 4;
  target.binaries[2].extension.x86_level = 3;
  EXPECT_THAT(judged(check_processor, target),
              ElementsAre("FF324 fits says that it needs x86-64-v4: AVX-512 (Skylake-X, Zen 4)"));
}

Target needing(std::vector<std::string> libraries, const std::string& metadata = "") {
  Target target = wheel_target(kOld, {{.path = "a/_C.so", .needed = std::move(libraries)}});
  target.metadata = "Name: a\nVersion: 1\n" + metadata;
  return target;
}

TEST(Libraries, ThatNothingBringsAreNamedWithTheirPackage) {
  EXPECT_THAT(
      judged(check_libraries,
             needing({"libc.so.6", "libcudart.so.13", "libcuda.so.1", "libcudnn.so.9", "libodd.so.3"})),
      ElementsAre("FF330 fits needs libcudart.so.13, which is not in this file and comes with no system",
                  "FF330 fits needs libcudnn.so.9, which is not in this file and comes with no system",
                  "FF332 fits needs libodd.so.3: not in this file, and no package that is known here brings it"));
  std::vector<Problem> problems;
  check_libraries(needing({"libcudart.so.13", "libcudnn.so.9"}), {}, problems);
  EXPECT_EQ(problems[0].fix, "pip install nvidia-cuda-runtime (it lies in nvidia/cu13/lib of site-packages)");
  EXPECT_EQ(problems[1].fix, "pip install nvidia-cudnn-cu13 (it lies in nvidia/cudnn/lib of site-packages)")
      << "the CUDA of the runtime decides";
}

TEST(Libraries, ThatSomethingBringsAreNotNamed) {
  EXPECT_THAT(judged(check_libraries, needing({"libcudart.so.12"}, "Requires-Dist: nvidia-cuda-runtime-cu12\n")),
              IsEmpty());
  EXPECT_THAT(judged(check_libraries, needing({"libcudart.so.12", "libtorch.so"}, "Requires-Dist: torch>=2\n")),
              IsEmpty());
  EXPECT_EQ(
      judged(check_libraries, needing({"libcudart.so.12"}, "Requires-Dist: nvidia-cuda-runtime-cu12; extra == 'x'\n"))
          .size(),
      1U);
  Target beside = needing({"libown.so.2", "libown-1a2b.so"});
  beside.binaries.push_back({.path = "a.libs/libown-1a2b.so", .soname = "libown.so.2"});
  EXPECT_THAT(judged(check_libraries, beside), IsEmpty());
  Question question;
  question.torch = std::make_shared<const TorchFacts>(TorchFacts{.libraries = {"libshm.so"}});
  EXPECT_THAT(judged(check_libraries, needing({"libshm.so", "libcublas.so.12"}), question), IsEmpty());
  question.torch = std::make_shared<const TorchFacts>(TorchFacts{.version = parse_version("2.9.0+cu130").value()});
  EXPECT_THAT(judged(check_libraries, needing({"libcublas.so.13"}), question), IsEmpty());
  EXPECT_EQ(judged(check_libraries, needing({"libcublas.so.12"}), question).size(), 1U) << "of another CUDA";
}

TEST(Libraries, OfAFolderAreAllThere) {
  Target target = needing({"libcudart.so.12"});
  target.kind = TargetKind::kDirectory;
  EXPECT_THAT(judged(check_libraries, target),
              ElementsAre("FF330 unknown needs libcudart.so.12, which is not in this folder and comes with no system"));
}

TEST(Libraries, SonamesOfTwoToolkits) {
  EXPECT_EQ(find_cuda_library("libnccl.so.2", 12)->package, "nvidia-nccl-cu12");
  EXPECT_EQ(find_cuda_library("libnccl.so.2", 13)->package, "nvidia-nccl-cu13");
  EXPECT_EQ(find_cuda_library("libnccl.so.2", 0)->package, "nvidia-nccl-cu12");
  EXPECT_EQ(find_cuda_library("libcublas.so.13", 12)->package, "nvidia-cublas");
  EXPECT_EQ(find_cuda_library("libc.so.6", 12), nullptr);
}

TEST(VendoredDriver, IsNamedUnlessItIsAStub) {
  const auto packing = [](const std::string& path, const std::string& soname = "") {
    return judged(check_vendored_driver, wheel_target(kOld, {{.path = path, .soname = soname}}));
  };
  EXPECT_EQ(packing("a.libs/libcuda-1a2b.so.1").size(), 1U);
  EXPECT_EQ(packing("a/renamed.so", "libcuda.so.1").size(), 1U);
  EXPECT_THAT(packing("lib/stubs/libcuda.so", "libcuda.so.1"), IsEmpty());
  EXPECT_THAT(packing("lib/libcudart.so.12", "libcudart.so.12"), IsEmpty());
}

}  // namespace
}  // namespace flashfit::doctor
