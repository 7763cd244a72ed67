// What the doctor says of a process: the kinds of misfit that public threads are about, rebuilt from made files.
#include "doctor/dynamic_loader/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/dynamic_loader/dll_names.hpp"
#include "doctor/dynamic_loader/dll_plan.hpp"
#include "doctor/dynamic_loader/made_process.hpp"
#include "doctor/dynamic_loader/process.hpp"
#include "doctor/made/pe.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

using doctor::Severity;
using test::kLoader;
using test::kProgram;
using test::MadeLibrary;
using ::testing::ElementsAre;
using namespace std::string_view_literals;

constexpr const char* kSite = "/venv/lib/python3.12/site-packages/";

std::string site(const std::string& path) { return kSite + path; }

/// "FF601 MESSAGE" of each.
std::vector<std::string> lines(const std::vector<doctor::Problem>& problems) {
  std::vector<std::string> all;
  for (const auto& problem : problems) all.push_back(problem.code + " " + problem.message);
  return all;
}

class ProblemsTest : public ::testing::Test {
 protected:
  void add(const std::string& path, const MadeLibrary& library) { tree_.add_file(path, library.bytes()); }
  std::vector<doctor::Problem> problems_of(const std::vector<std::string>& opened) {
    Process process(tree_, view_);
    EXPECT_TRUE(process.start(kProgram));
    for (const std::string& path : opened) {
      const int object = process.open(path);
      if (object != kNobody) process.look_for_named(object);
    }
    return loader_problems(process.plan());
  }
  MadeTree tree_ = test::make_system();
  LoaderView view_;
};

TEST_F(ProblemsTest, Kind2ARuntimeThatNothingBrings) {
  add(site("flash_attn_2_cuda.so"), {.needed = {"libcudart.so.12", "libc.so.6"}});
  add(site("other.so"), {.needed = {"libcudart.so.12"}});
  const auto problems = problems_of({site("flash_attn_2_cuda.so"), site("other.so")});
  EXPECT_THAT(lines(problems),
              ElementsAre("FF601 needs libcudart.so.12, which no folder that is searched has; so does other.so"));
  EXPECT_EQ(problems[0].severity, Severity::kMisfit);
  EXPECT_EQ(problems[0].member, site("flash_attn_2_cuda.so"));
  EXPECT_EQ(
      problems[0].fix,
      "pip install nvidia-cuda-runtime-cu12 (it lies in nvidia/cuda_runtime/lib of site-packages), and its folder "
      "on the search path, unless what imports it loads it before");
}

TEST_F(ProblemsTest, Kind2IsNoneWhereSomethingLoadsItBefore) {
  add(site("flash_attn_2_cuda.so"), {.needed = {"libcudart.so.12"}});
  add(site("nvidia/cuda_runtime/lib/libcudart.so.12"), {.soname = "libcudart.so.12"});
  EXPECT_THAT(lines(problems_of({site("nvidia/cuda_runtime/lib/libcudart.so.12"), site("flash_attn_2_cuda.so")})),
              ElementsAre());
}

TEST_F(ProblemsTest, TheDriversLibraryIsTheHostsToBring) {
  add(site("ext.so"), {.needed = {"libcuda.so.1"}});
  const auto problems = problems_of({site("ext.so"), "/absent.so"});
  EXPECT_THAT(lines(problems), ElementsAre("FF601 /absent.so is not there",
                                           "FF601 needs libcuda.so.1, which no folder that is searched has"));
  EXPECT_EQ(problems[1].severity, Severity::kHost);
  EXPECT_EQ(problems[0].severity, Severity::kMisfit);
}

TEST_F(ProblemsTest, Kind3PartsOfCudnnFromTwoPlaces) {
  const MadeLibrary front{.soname = "libcudnn.so.9",
                          .runpath = "$ORIGIN",
                          .data = test::text_bytes("\0libcudnn_graph.so.9\0libcudnn_ops.so.9\0"sv)};
  const std::string own = site("nvidia/cudnn/lib/");
  add(own + "libcudnn.so.9", front);
  add(own + "libcudnn_graph.so.9", {.soname = "libcudnn_graph.so.9"});
  add(own + "libcudnn_ops.so.9", {.soname = "libcudnn_ops.so.9"});
  EXPECT_THAT(lines(problems_of({own + "libcudnn.so.9"})), ElementsAre());
  view_.library_path = "/usr/lib/cudnn";
  add("/usr/lib/cudnn/libcudnn_graph.so.9", {.soname = "libcudnn_graph.so.9"});
  EXPECT_THAT(lines(problems_of({own + "libcudnn.so.9"})), ElementsAre()) << "the same build twice";
  add("/usr/lib/cudnn/libcudnn_graph.so.9.1.0", {.soname = "libcudnn_graph.so.9", .exports = {"of_9_1"}});
  tree_.add_link("/usr/lib/cudnn/libcudnn_graph.so.9", "libcudnn_graph.so.9.1.0");
  auto problems = problems_of({own + "libcudnn.so.9"});
  EXPECT_THAT(lines(problems),
              ElementsAre("FF606 opens libcudnn_graph.so.9 by name and gets /usr/lib/cudnn/libcudnn_graph.so.9 "
                          "(libcudnn_graph.so.9.1.0), found by LD_LIBRARY_PATH, not the one beside it: two copies of "
                          "one library, mixed"));
  EXPECT_EQ(problems[0].member, own + "libcudnn.so.9");
  add("/usr/lib/cudnn/libcudnn_ops.so.9", {.soname = "libcudnn_ops.so.9", .exports = {"of_9_1"}});
  problems = problems_of({own + "libcudnn.so.9"});
  EXPECT_THAT(lines(problems), ElementsAre("FF606 opens libcudnn_graph.so.9, libcudnn_ops.so.9 by name and gets those "
                                           "in /usr/lib/cudnn, found by LD_LIBRARY_PATH, not the ones beside it: two "
                                           "copies of one library, mixed"));
}

TEST_F(ProblemsTest, WhatWasJudgedBeforeAMarkIsNotSaidAgain) {
  add(site("first.so"), {.needed = {"libabsent.so.1"}});
  add(site("second.so"), {.needed = {"libc.so.6"}, .imports = {{"a", "libc.so.6", "GLIBC_2.38"}}});
  Process process(tree_, view_);
  EXPECT_TRUE(process.start(kProgram));
  process.open(site("first.so"));
  const PlanMark mark = process.plan().mark();
  process.open(site("second.so"));
  EXPECT_EQ(loader_problems(process.plan()).size(), 2U);
  const auto later = loader_problems(process.plan(), mark);
  ASSERT_EQ(later.size(), 1U);
  EXPECT_EQ(later[0].code, "FF603");
}

TEST_F(ProblemsTest, TheDriverMayComeLater) {
  add(site("ext.so"), {.needed = {"libcuda.so.1", "libc.so.6"}});
  view_.driver_comes_later = true;
  EXPECT_THAT(lines(problems_of({site("ext.so")})), ElementsAre());
  Process process(tree_, view_);
  EXPECT_TRUE(process.start(kProgram));
  EXPECT_NE(process.open(site("ext.so")), kNobody);
}

TEST_F(ProblemsTest, Kind3PartsThatAreNotFound) {
  const MadeLibrary front{.soname = "libcudnn.so.9",
                          .data = test::text_bytes("\0libcudnn_graph.so.9\0libcudnn_ops.so.9\0libibverbs.so.1\0"sv)};
  add("/opt/cudnn/libcudnn.so.9", front);
  add("/opt/cudnn/libcudnn_graph.so.9", {});
  EXPECT_THAT(lines(problems_of({"/opt/cudnn/libcudnn.so.9"})),
              ElementsAre("FF607 opens libcudnn_graph.so.9 by name, which lies beside it in a folder that is not "
                          "searched: found only if it is loaded before",
                          "FF607 opens libcudnn_ops.so.9 by name, a part of its own that is nowhere"));
}

TEST_F(ProblemsTest, Kind4AToolkitsNvJitLinkBeforeThePackages) {
  add(site("nvidia/cusparse/lib/libcusparse.so.12"),
      {.soname = "libcusparse.so.12",
       .runpath = "$ORIGIN/../../nvjitlink/lib",
       .needed = {"libnvJitLink.so.12"},
       .imports = {{"__nvJitLinkComplete_12_4", "libnvJitLink.so.12", "libnvJitLink.so.12"}}});
  const std::string own = site("nvidia/cusparse/lib/../../nvjitlink/lib/libnvJitLink.so.12");
  add(site("nvidia/nvjitlink/lib/libnvJitLink.so.12"),
      {.soname = "libnvJitLink.so.12", .exports = {"__nvJitLinkComplete_12_4"}, .defines = {"libnvJitLink.so.12"}});
  add("/usr/local/cuda/lib64/libnvJitLink.so.12",
      {.soname = "libnvJitLink.so.12", .exports = {"__nvJitLinkComplete_12_1"}, .defines = {"libnvJitLink.so.12"}});
  EXPECT_THAT(lines(problems_of({site("nvidia/cusparse/lib/libcusparse.so.12")})), ElementsAre());
  view_.library_path = "/usr/local/cuda/lib64";
  const auto problems = problems_of({site("nvidia/cusparse/lib/libcusparse.so.12")});
  EXPECT_THAT(
      lines(problems),
      ElementsAre("FF604 needs __nvJitLinkComplete_12_4 of libnvJitLink.so.12, which "
                  "/usr/local/cuda/lib64/libnvJitLink.so.12 (found by LD_LIBRARY_PATH) lacks: another release of the "
                  "library than it was linked with",
                  "FF605 libnvJitLink.so.12 is /usr/local/cuda/lib64/libnvJitLink.so.12 (found by LD_LIBRARY_PATH), "
                  "not " +
                      own + ", to which its own DT_RUNPATH leads"));
  EXPECT_EQ(problems[0].fix, own + " has it: take its folder off LD_LIBRARY_PATH: then " + own + " is loaded");
}

TEST_F(ProblemsTest, Kind5AnOldLibstdcxxThatAProgramBrings) {
  const auto libstdcxx = [](std::vector<std::string> versions) {
    return MadeLibrary{.soname = "libstdc++.so.6", .exports = {"x"}, .defines = std::move(versions)};
  };
  add(kProgram, {.rpath = "$ORIGIN/../lib", .needed = {"libc.so.6"}, .interpreter = kLoader});
  add("/usr/lib/libstdc++.so.6", libstdcxx({"GLIBCXX_3.4", "GLIBCXX_3.4.29", "GLIBCXX_3.4.9"}));
  add(site("ext.so"), {.needed = {"libstdc++.so.6"},
                       .imports = {{"a", "libstdc++.so.6", "GLIBCXX_3.4.30"},
                                   {"b", "libstdc++.so.6", "GLIBCXX_3.4.9"},
                                   {"c", "libstdc++.so.6", "GLIBCXX_3.4.32"}}});
  const std::string line =
      "FF603 needs GLIBCXX_3.4.32, of GCC 13.2, which /usr/bin/../lib/libstdc++.so.6 (found by DT_RPATH of python3) "
      "lacks: it ends at GLIBCXX_3.4.29";
  auto problems = problems_of({site("ext.so")});
  EXPECT_THAT(lines(problems), ElementsAre(line));
  EXPECT_EQ(problems[0].fix, "libstdc++ of GCC 13.2 or later (conda's libstdcxx-ng, or a newer system)");
  add("/usr/lib64/libstdc++.so.6", libstdcxx({"GLIBCXX_3.4.9", "GLIBCXX_3.4.30", "GLIBCXX_3.4.32"}));
  problems = problems_of({site("ext.so")});
  EXPECT_THAT(lines(problems), ElementsAre(line));
  EXPECT_EQ(
      problems[0].fix,
      "/usr/lib64/libstdc++.so.6 has it: LD_PRELOAD=/usr/lib64/libstdc++.so.6: DT_RPATH goes before LD_LIBRARY_PATH");
}

TEST_F(ProblemsTest, Kind5AnOldGlibc) {
  add(site("ext.so"), {.needed = {"libc.so.6"}, .imports = {{"a", "libc.so.6", "GLIBC_2.38"}}});
  const auto problems = problems_of({site("ext.so")});
  EXPECT_THAT(lines(problems), ElementsAre("FF603 needs GLIBC_2.38, which /usr/lib64/libc.so.6 (found by the system's "
                                           "default folders) lacks: it ends at GLIBC_2.34"));
  EXPECT_EQ(problems[0].fix, "a system with glibc 2.38 or later");
}

TEST_F(ProblemsTest, WeakVersionsAndLibrariesWithoutVersionsAreFine) {
  add("/usr/lib64/libplain.so", {.soname = "libplain.so"});
  add(site("ext.so"), {.needed = {"libplain.so"}, .imports = {{"a", "libplain.so", "V_1"}}});
  EXPECT_THAT(lines(problems_of({site("ext.so")})), ElementsAre());
  MadeLibrary late{.needed = {"libc.so.6"}, .imports = {{"a", "libc.so.6", "GLIBC_2.38"}}, .weak_versions = true};
  add(site("ext.so"), late);
  EXPECT_THAT(lines(problems_of({site("ext.so")})), ElementsAre());
  late.weak_versions = false;
  add(site("ext.so"), late);
  EXPECT_EQ(problems_of({site("ext.so")}).size(), 1);
}

TEST_F(ProblemsTest, Kind6ExecutableStacks) {
  add(site("ext.so"), {.executable_stack = true});
  EXPECT_THAT(lines(problems_of({site("ext.so")})), ElementsAre());
  tree_ = test::make_system("2.41");
  add(site("ext.so"), {.executable_stack = true});
  const auto problems = problems_of({site("ext.so")});
  EXPECT_THAT(lines(problems), ElementsAre("FF608 asks for an executable stack, which glibc 2.41 refuses to what is "
                                           "opened late"));
  EXPECT_EQ(problems[0].fix,
            "patchelf --clear-execstack " + site("ext.so") + ", or GLIBC_TUNABLES=glibc.rtld.execstack=2");
  view_.execstack_tunable = true;
  EXPECT_THAT(lines(problems_of({site("ext.so")})), ElementsAre());
  // What is there from the start may have it.
  view_ = {.preload = site("ext.so")};
  EXPECT_THAT(lines(problems_of({})), ElementsAre());
}

TEST_F(ProblemsTest, StaticTlsOfAllThatComesLate) {
  add("/usr/lib64/liba.so", {.static_tls = true, .tls_size = 1500});
  add("/usr/lib64/libb.so", {.static_tls = true, .tls_size = 800});
  add("/usr/lib64/libc1.so", {.tls_size = 100000});
  EXPECT_THAT(lines(problems_of({"liba.so", "libc1.so"})), ElementsAre());
  const auto problems = problems_of({"liba.so", "libb.so"});
  EXPECT_THAT(lines(problems),
              ElementsAre("FF609 libraries that are opened late may need 2304 bytes of static TLS (liba.so 1504, "
                          "libb.so 800); glibc keeps 1664: \"cannot allocate memory in static TLS block\""));
  EXPECT_EQ(problems[0].member, "/usr/lib64/liba.so");
}

TEST_F(ProblemsTest, BrokenFilesAndPreloads) {
  tree_.add_file("/opt/libx.so.1", "version https://git-lfs.github.com/spec/v1\n");
  add(site("ext.so"), {.runpath = "/opt", .needed = {"libx.so.1"}});
  view_.preload = "/no\nthing.so";
  EXPECT_THAT(
      lines(problems_of({site("ext.so")})),
      ElementsAre("FF602 needs libx.so.1, and the search ends at /opt/libx.so.1 (by DT_RUNPATH of ext.so): file "
                  "too short",
                  "FF610 /no\\x0athing.so is to be preloaded and cannot be: the loader says so and goes on"));
}

class DllTest : public ::testing::Test {
 protected:
  void add(const std::string& path, const std::vector<std::string>& imports) {
    doctor::test::MadeDll dll;
    for (const std::string& library : imports) dll.imports.push_back({library, {"f"}});
    tree_.add_file(path, dll.bytes());
  }
  MadeTree tree_;
  DllView view_{.folders = {"/python", "/site/torch/lib"}};
};

TEST_F(DllTest, Kind13AProviderForAnotherCuda) {
  add("/site/onnxruntime/capi/onnxruntime_providers_cuda.dll",
      {"KERNEL32.dll", "api-ms-win-crt-heap-l1-1-0.dll", "VCRUNTIME140.dll", "cublasLt64_13.dll", "MSVCP140.dll"});
  add("/python/vcruntime140.dll", {"ucrtbase.dll"});
  const LoadPlan plan = plan_dlls(tree_, view_, {"/site/onnxruntime/capi/onnxruntime_providers_cuda.dll"});
  const auto problems = loader_problems(plan);
  EXPECT_THAT(
      lines(problems),
      ElementsAre("FF620 needs cublasLt64_13.dll, which is neither Windows' own nor in a folder that is searched",
                  "FF620 needs MSVCP140.dll, which is neither Windows' own nor in a folder that is searched"));
  EXPECT_EQ(problems[0].fix,
            "pip install nvidia-cublas (it lies in nvidia/cu13/bin of site-packages), and "
            "os.add_dll_directory() of that folder before the import");
  EXPECT_EQ(problems[1].fix, "Microsoft's Visual C++ Redistributable");
}

TEST_F(DllTest, WhatIsLoadedWinsThenTheOwnFolderThenTheOthers) {
  add("/site/ext.pyd", {"A.dll", "b.dll", "c.dll"});
  add("/site/a.dll", {});
  add("/site/b.dll", {});
  add("/site/torch/lib/B.dll", {});
  add("/site/torch/lib/c.dll", {});
  add("/other/a.DLL", {});
  view_.loaded = {"/other/a.DLL"};
  const LoadPlan plan = plan_dlls(tree_, view_, {"/site/ext.pyd"});
  std::vector<std::string> paths;
  for (const LoadedObject& object : plan.objects) paths.push_back(object.found.path);
  EXPECT_THAT(paths, ElementsAre("/other/a.DLL", "/site/ext.pyd", "/site/b.dll", "/site/torch/lib/c.dll"));
  EXPECT_THAT(lines(loader_problems(plan)), ElementsAre());
}

TEST(DllNames, AreThoseOfLinuxInAnotherForm) {
  EXPECT_EQ(soname_of_dll("cublasLt64_13.dll"), "libcublasLt.so.13");
  EXPECT_EQ(soname_of_dll("cudart64_110.dll"), "libcudart.so.11.0");
  EXPECT_EQ(soname_of_dll("nvrtc64_120_0.dll"), "libnvrtc.so.12");
  EXPECT_EQ(soname_of_dll("nvrtc64_112_0.DLL"), "libnvrtc.so.11.2");
  EXPECT_EQ(soname_of_dll("cudnn64_9.dll"), "libcudnn.so.9");
  EXPECT_EQ(soname_of_dll("64_9.dll"), "");
  EXPECT_EQ(soname_of_dll("kernel32.dll"), "");
  EXPECT_TRUE(is_of_windows("API-MS-Win-core-file-l1-1-0.dll"));
  EXPECT_FALSE(is_of_windows("msvcp140.dll"));
}

}  // namespace
}  // namespace flashfit::doctor::dynamic_loader
