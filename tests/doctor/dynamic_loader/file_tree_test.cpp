#include "doctor/dynamic_loader/file_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "doctor/dynamic_loader/made_tree.hpp"
#include "doctor/dynamic_loader/real_tree.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

TEST(FileTree, LinksAreFollowedWithinTheTree) {
  MadeTree tree;
  tree.add_file("/usr/lib/libc.so.6", "c");
  tree.add_link("/lib", "usr/lib");
  tree.add_link("/usr/lib64", "../lib");
  tree.add_link("/opt/here", "/usr/lib64");
  EXPECT_EQ(tree.resolve("/lib/libc.so.6").path, "/usr/lib/libc.so.6");
  EXPECT_EQ(tree.resolve("/opt/here/libc.so.6").path, "/usr/lib/libc.so.6");
  EXPECT_EQ(tree.resolve("//opt/./here/../lib//libc.so.6").path, "/usr/lib/libc.so.6");
  EXPECT_EQ(tree.resolve("/opt/here").node.kind, FileKind::kFolder);
  EXPECT_EQ(read_text(tree, "/opt/here/libc.so.6", 8).value(), "c");
  EXPECT_EQ(tree.list("/opt/here").value().size(), 1);
}

TEST(FileTree, ParentOfTheRootIsTheRoot) {
  MadeTree tree;
  tree.add_file("/etc/passwd", "of the tree");
  tree.add_link("/a/b", "../../../../../etc/passwd");
  EXPECT_EQ(tree.resolve("/../..").path, "/");
  EXPECT_EQ(tree.resolve("/a/b").path, "/etc/passwd");
}

TEST(FileTree, WhatCannotBeReachedSaysWhy) {
  MadeTree tree;
  tree.add_file("/file", "x");
  tree.add_link("/loop", "loop");
  tree.add_link("/a", "/b");
  tree.add_link("/b", "a/x");
  tree.add_link("/empty", "");
  tree.add_link("/far", std::string(5000, 'x'));
  EXPECT_EQ(tree.resolve("/nothing/here").node.why, "no such file");
  EXPECT_EQ(tree.resolve("/file/x").node.why, "not a folder");
  EXPECT_EQ(tree.resolve("/loop").node.why, "too many links, which may be a loop");
  EXPECT_EQ(tree.resolve("/a/y").node.kind, FileKind::kNone);
  EXPECT_EQ(tree.resolve("/empty").node.why, "a link to nothing");
  EXPECT_EQ(tree.resolve("/far").node.why, "path too long");
  EXPECT_EQ(tree.resolve("file").node.why, "not an absolute path");
  EXPECT_EQ(tree.resolve("").node.why, "not an absolute path");
  EXPECT_EQ(tree.resolve("/" + std::string(5000, 'x')).node.why, "path too long");
  EXPECT_EQ(tree.open("/nothing").error().message, "/nothing: no such file");
  EXPECT_EQ(tree.open("/").error().message, "/: not a regular file");
  EXPECT_EQ(tree.list("/file").error().message, "/file: not a folder");
  EXPECT_THAT(read_text(tree, "/file", 0).error().message, HasSubstr("/file: malformed: text beyond the limit of 0"));
}

class RealTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_ / "usr/lib");
    std::ofstream(root_ / "usr/lib/libm.so.6") << "m";
  }
  void TearDown() override { fs::remove_all(root_); }
  // Cases run beside each other.
  fs::path root_ = fs::path(::testing::TempDir()) /
                   (std::string("flashfit-tree-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(RealTreeTest, IsTheFolder) {
  fs::create_symlink("/usr/lib", root_ / "lib");
  fs::create_symlink("../../../../../../../../../../etc", root_ / "out");
  const RealTree tree(root_.string() + "//");
  EXPECT_EQ(tree.root(), root_.string());
  EXPECT_EQ(tree.resolve("/lib/libm.so.6").path, "/usr/lib/libm.so.6");
  EXPECT_EQ(read_text(tree, "/lib/libm.so.6", 8).value(), "m");
  EXPECT_EQ(tree.resolve("/out").node.why, "no such file");
  const auto entries = tree.list("/").value();
  ASSERT_EQ(entries.size(), 3);
  EXPECT_EQ(entries[0].name, "lib");
  EXPECT_EQ(entries[0].kind, FileKind::kLink);
  EXPECT_EQ(entries[2].kind, FileKind::kFolder);
}

TEST_F(RealTreeTest, OneFileUnderTwoNamesHasOneId) {
  fs::create_hard_link(root_ / "usr/lib/libm.so.6", root_ / "usr/lib/libm-2.so");
  std::ofstream(root_ / "usr/lib/other.so") << "m";
  const RealTree tree(root_.string());
  const auto id = tree.resolve("/usr/lib/libm.so.6").node.id;
  EXPECT_EQ(tree.resolve("/usr/lib/libm-2.so").node.id, id);
  EXPECT_NE(tree.resolve("/usr/lib/other.so").node.id, id);
}

TEST_F(RealTreeTest, PipesAreNotOpened) {
  ASSERT_EQ(mkfifo((root_ / "pipe").c_str(), 0600), 0);
  const RealTree tree(root_.string());
  EXPECT_EQ(tree.resolve("/pipe").node.kind, FileKind::kOther);
  EXPECT_EQ(tree.open("/pipe").error().message, "/pipe: not a regular file");
}

TEST_F(RealTreeTest, RootThatIsNotThereIsEmpty) {
  const RealTree tree((root_ / "absent").string());
  EXPECT_EQ(tree.resolve("/usr").node.why, "no such file");
  EXPECT_EQ(tree.list("/").error().message, "/: no such file");
}

}  // namespace
}  // namespace flashfit::doctor::dynamic_loader
