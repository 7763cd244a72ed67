#include "doctor/dynamic_loader/search_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/dynamic_loader/ld_so_conf.hpp"
#include "doctor/dynamic_loader/made_tree.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

using ::testing::ElementsAre;

const PathTokens kTokens{.origin = "/opt/app/bin", .lib = "lib64", .platform = "haswell"};

TEST(SearchPath, TokensAreExpanded) {
  EXPECT_EQ(expand_tokens("$ORIGIN/../$LIB", kTokens), "/opt/app/bin/../lib64");
  EXPECT_EQ(expand_tokens("${ORIGIN}x/${PLATFORM}", kTokens), "/opt/app/binx/haswell");
  EXPECT_EQ(expand_tokens("a$b${ORIGI}$", kTokens), "a$b${ORIGI}$");
  EXPECT_EQ(expand_tokens("$ORIGIN", {}), std::nullopt);
  EXPECT_EQ(expand_tokens(std::string(5000, 'x'), kTokens), std::nullopt);
}

TEST(SearchPath, ListsAreSplit) {
  EXPECT_THAT(split_search_path("/a/:/b;c::/a", ":", kTokens, ""), ElementsAre("/a", "/b;c"));
  EXPECT_THAT(split_search_path("/a/:/b;c::/a", ":;", kTokens, "/here"), ElementsAre("/a", "/b", "/here/c", "/here"));
  EXPECT_THAT(split_search_path("", ":", kTokens, "/here"), ElementsAre());
  EXPECT_THAT(split_search_path("/", ":", kTokens, ""), ElementsAre("/"));
}

TEST(LdSoConf, IncludesAreReadInTheirPlace) {
  MadeTree tree;
  tree.add_file("/etc/ld.so.conf", "/first/ # a comment\ninclude ld.so.conf.d/*.conf\n/last\nhwcap 0 nosegneg\n");
  tree.add_file("/etc/ld.so.conf.d/b.conf", "/b\n/first\n");
  tree.add_file("/etc/ld.so.conf.d/a.conf", "  /a=libc6\t\nrelative\n");
  tree.add_file("/etc/ld.so.conf.d/README", "/readme\n");
  EXPECT_THAT(read_ld_so_conf(tree), ElementsAre("/first", "/a", "/b", "/last"));
}

TEST(LdSoConf, FilesThatIncludeEachOtherEnd) {
  MadeTree tree;
  tree.add_file("/etc/ld.so.conf", "include /etc/*.conf\n/x\n");
  tree.add_file("/etc/other.conf", "include /etc/ld.so.conf /etc/other.conf\n/y\n");
  EXPECT_THAT(read_ld_so_conf(tree), ElementsAre("/y", "/x"));
  EXPECT_THAT(read_ld_so_conf(tree, "/absent"), ElementsAre());
}

TEST(LdSoConf, Patterns) {
  EXPECT_TRUE(fits_pattern("cuda-12.conf", "cuda*?.conf"));
  EXPECT_TRUE(fits_pattern("", "*"));
  EXPECT_FALSE(fits_pattern("a.conf.bak", "*.conf"));
  EXPECT_FALSE(fits_pattern("a", "?b"));
  EXPECT_FALSE(fits_pattern(std::string(200, 'a'), "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"));
}

}  // namespace
}  // namespace flashfit::doctor::dynamic_loader
