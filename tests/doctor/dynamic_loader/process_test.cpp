// The model of the loader on made files: its search, its order, what it passes over.
#include "doctor/dynamic_loader/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/dynamic_loader/made_process.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

using test::kLoader;
using test::kProgram;
using test::MadeLibrary;
using ::testing::ElementsAre;

std::vector<std::string> paths(const LoadPlan& plan) {
  std::vector<std::string> all;
  for (const LoadedObject& object : plan.objects)
    if (!object.dropped) all.push_back(object.found.path);
  return all;
}

class ProcessTest : public ::testing::Test {
 protected:
  void add(const std::string& path, const MadeLibrary& library) { tree_.add_file(path, library.bytes()); }
  /// The path that a request of the opened library for libx.so.1 ends at; "" if it is not found.
  std::string x_of(const std::string& opened) {
    Process process(tree_, view_);
    EXPECT_TRUE(process.start(kProgram));
    process.open(opened);
    for (const LoadRequest& asked : process.plan().requests)
      if (asked.name == "libx.so.1" && asked.object != kNobody)
        return process.plan().objects[static_cast<std::size_t>(asked.object)].found.path;
    return "";
  }
  MadeTree tree_ = test::make_system();
  LoaderView view_;
  const MadeLibrary x_{.soname = "libx.so.1"};
};

TEST_F(ProcessTest, StartsWithProgramLoaderAndNeeds) {
  Process process(tree_, view_);
  EXPECT_TRUE(process.start(kProgram));
  EXPECT_THAT(paths(process.plan()), ElementsAre(kProgram, kLoader, "/usr/lib64/libc.so.6"));
  EXPECT_EQ(process.plan().c_library.version, (GlibcVersion{2, 36}));
  EXPECT_THAT(process.plan().c_library.default_folders, ElementsAre("/lib64", "/usr/lib64"));
}

TEST_F(ProcessTest, LoadsBreadthFirst) {
  add("/usr/lib64/liba.so", {.soname = "liba.so", .needed = {"libb.so", "libc1.so"}});
  add("/usr/lib64/libb.so", {.soname = "libb.so", .needed = {"libd.so"}});
  add("/usr/lib64/libc1.so", {.soname = "libc1.so", .needed = {"libb.so", "liba.so"}});
  add("/usr/lib64/libd.so", {.soname = "libd.so"});
  Process process(tree_, view_);
  EXPECT_NE(process.open("liba.so"), kNobody);
  EXPECT_THAT(paths(process.plan()),
              ElementsAre("/usr/lib64/liba.so", "/usr/lib64/libb.so", "/usr/lib64/libc1.so", "/usr/lib64/libd.so"));
}

TEST_F(ProcessTest, PathGoesBeforeRunpathAndRunpathBeforeSystem) {
  add("/opt/m.so", {.runpath = "$ORIGIN/own", .needed = {"libx.so.1"}});
  add("/usr/lib64/libx.so.1", x_);
  EXPECT_EQ(x_of("/opt/m.so"), "/usr/lib64/libx.so.1");
  add("/opt/own/libx.so.1", x_);
  EXPECT_EQ(x_of("/opt/m.so"), "/opt/own/libx.so.1");
  add("/path/libx.so.1", x_);
  view_.library_path = "/nowhere:/path/";
  EXPECT_EQ(x_of("/opt/m.so"), "/path/libx.so.1");
}

TEST_F(ProcessTest, RpathGoesBeforePathAndHoldsForWhatItLedTo) {
  add("/opt/m.so", {.rpath = "$ORIGIN/own", .needed = {"liby.so.1"}});
  add("/opt/own/liby.so.1", {.soname = "liby.so.1", .needed = {"libx.so.1"}});
  add("/opt/own/libx.so.1", x_);
  add("/path/libx.so.1", x_);
  view_.library_path = "/path";
  EXPECT_EQ(x_of("/opt/m.so"), "/opt/own/libx.so.1");
  // One with DT_RUNPATH takes nobody's DT_RPATH.
  add("/opt/own/liby.so.1", {.soname = "liby.so.1", .runpath = "/nowhere", .needed = {"libx.so.1"}});
  EXPECT_EQ(x_of("/opt/m.so"), "/path/libx.so.1");
}

TEST_F(ProcessTest, RunpathSilencesTheSameObjectsRpath) {
  add("/opt/m.so", {.runpath = "/run", .rpath = "/own", .needed = {"libx.so.1"}});
  add("/own/libx.so.1", x_);
  EXPECT_EQ(x_of("/opt/m.so"), "");
}

TEST_F(ProcessTest, RpathOfTheProgramHoldsForAll) {
  add(kProgram, {.rpath = "${ORIGIN}/../lib", .needed = {"libc.so.6"}, .interpreter = kLoader});
  add("/usr/lib/libx.so.1", x_);
  add("/opt/m.so", {.needed = {"libx.so.1"}});
  EXPECT_EQ(x_of("/opt/m.so"), "/usr/bin/../lib/libx.so.1");
}

TEST_F(ProcessTest, WhatIsLoadedAnswersToItsSoname) {
  add("/opt/m.so", {.runpath = "/own", .needed = {"libx.so.1"}});
  add("/own/libx.so.1", x_);
  add("/first/real-name.so", x_);
  Process process(tree_, view_);
  EXPECT_NE(process.open("/first/real-name.so"), kNobody);
  EXPECT_NE(process.open("/opt/m.so"), kNobody);
  const LoadRequest& asked = process.plan().requests.back();
  EXPECT_EQ(asked.by, FoundBy::kLoaded);
  EXPECT_EQ(process.plan().objects[static_cast<std::size_t>(asked.object)].found.path, "/first/real-name.so");
  ASSERT_EQ(asked.candidates.size(), 1);
  EXPECT_EQ(asked.candidates[0].path, "/own/libx.so.1");
}

TEST_F(ProcessTest, OneFileUnderTwoNamesIsLoadedOnce) {
  add("/usr/lib64/libx.so.1.2", {});
  tree_.add_link("/usr/lib64/libx.so.1", "libx.so.1.2");
  tree_.add_link("/usr/lib64/libx.so", "libx.so.1");
  Process process(tree_, view_);
  const int first = process.open("libx.so");
  EXPECT_EQ(process.open("libx.so.1"), first);
  EXPECT_THAT(paths(process.plan()), ElementsAre("/usr/lib64/libx.so"));
}

TEST_F(ProcessTest, OtherMachinesArePassedOverAndBrokenFilesEndTheSearch) {
  add("/opt/m.so", {.needed = {"libx.so.1"}});
  add("/arm/libx.so.1", {.machine = 183});
  add("/good/libx.so.1", x_);
  view_.library_path = "/arm:/good";
  EXPECT_EQ(x_of("/opt/m.so"), "/good/libx.so.1");
  tree_.add_file("/bad/libx.so.1", "INPUT(libx.so.2) and more text than an ELF header has in all its 64 bytes");
  view_.library_path = "/bad:/good";
  EXPECT_EQ(x_of("/opt/m.so"), "");
  Process process(tree_, view_);
  process.open("/opt/m.so");
  EXPECT_EQ(process.plan().requests.back().why, "/bad/libx.so.1: invalid ELF header");
}

TEST_F(ProcessTest, BetterProcessorsLookIntoSubfoldersFirst) {
  add("/opt/m.so", {.runpath = "/own", .needed = {"libx.so.1"}});
  add("/own/libx.so.1", x_);
  add("/own/glibc-hwcaps/x86-64-v2/libx.so.1", x_);
  add("/own/glibc-hwcaps/x86-64-v4/libx.so.1", x_);
  view_.x86_level = 1;
  EXPECT_EQ(x_of("/opt/m.so"), "/own/libx.so.1");
  view_.x86_level = 3;
  EXPECT_EQ(x_of("/opt/m.so"), "/own/glibc-hwcaps/x86-64-v2/libx.so.1");
  view_.x86_level = 4;
  EXPECT_EQ(x_of("/opt/m.so"), "/own/glibc-hwcaps/x86-64-v4/libx.so.1");
}

TEST_F(ProcessTest, PreloadsComeBeforeNeedsAndMayBeAbsent) {
  add("/pre.so", {});
  view_.preload = "/pre.so /nothing.so";
  Process process(tree_, view_);
  EXPECT_TRUE(process.start(kProgram));
  EXPECT_THAT(paths(process.plan()), ElementsAre(kProgram, kLoader, "/pre.so", "/usr/lib64/libc.so.6"));
}

TEST_F(ProcessTest, WhatDlopenCouldNotLoadLeavesNothing) {
  add("/opt/m.so", {.needed = {"libx.so.1", "libabsent.so"}});
  add("/usr/lib64/libx.so.1", x_);
  Process process(tree_, view_);
  EXPECT_EQ(process.open("/opt/m.so"), kNobody);
  EXPECT_THAT(paths(process.plan()), ElementsAre());
  EXPECT_EQ(process.plan().find("libx.so.1"), kNobody);
  EXPECT_NE(process.open("libx.so.1"), kNobody);
}

TEST_F(ProcessTest, CopiesGoTheirOwnWay) {
  add("/usr/lib64/libx.so.1", x_);
  const Process base(tree_, view_);
  Process copy = base;
  EXPECT_NE(copy.open("libx.so.1"), kNobody);
  EXPECT_TRUE(base.plan().objects.empty());
}

TEST_F(ProcessTest, FoldersOfLdSoConfCountWhereLdconfigWouldRun) {
  tree_.add_file("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
  tree_.add_file("/etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda/lib64 # CUDA\n");
  add("/usr/local/cuda/lib64/libx.so.1", x_);
  add("/opt/m.so", {.needed = {"libx.so.1"}});
  EXPECT_EQ(x_of("/opt/m.so"), "");
  view_.cache = CacheUse::kConfigured;
  EXPECT_EQ(x_of("/opt/m.so"), "/usr/local/cuda/lib64/libx.so.1");
}

TEST_F(ProcessTest, RelativeNamesStartFromTheCurrentFolder) {
  add("/here/sub/m.so", {});
  Process nowhere(tree_, view_);
  EXPECT_EQ(nowhere.open("sub/m.so"), kNobody);
  view_.current_folder = "/here";
  Process process(tree_, view_);
  EXPECT_NE(process.open("sub/m.so"), kNobody);
}

}  // namespace
}  // namespace flashfit::doctor::dynamic_loader
