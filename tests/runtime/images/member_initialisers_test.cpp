// The rule that types of device code have no default member initialisers: what it finds, and what it must leave alone.
#include "runtime/images/build/member_initialisers.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/images/build/closure.hpp"
#include "runtime/images/build/kernel_list.hpp"

namespace flashfit {
namespace {

std::string found(const std::string& text) {
  const auto it = find_member_initialiser(text);
  return it ? it->member + ":" + std::to_string(it->line) : "";
}

TEST(MemberInitialisers, AreFound) {
  EXPECT_EQ(found("struct R {\n  float base = -3e38f;\n};"), "base:2");
  EXPECT_EQ(found("struct R { float a, b = 1; };"), "b:1");
  EXPECT_EQ(found("struct R { float base{1.f}; };"), "base:1");
  EXPECT_EQ(found("struct R { float c[2][3] = {}; };"), "c:1");
  EXPECT_EQ(found("struct R { float c[2]{}; };"), "c:1");
  EXPECT_EQ(found("class R { public: int x{}; };"), "x:1");
  EXPECT_EQ(found("union U { int i = 3; float f; };"), "i:1");
  EXPECT_EQ(found("template <int N = 4> struct R { int n = N; };"), "n:1");
  EXPECT_EQ(found("void f() { struct Local { int n = 1; } here; }"), "n:1");
  EXPECT_EQ(found("struct Outer { struct In { int n = 1; } in; };"), "n:1");
  EXPECT_EQ(found("struct R { struct { int a; } pair = {}; };"), "pair:1");
  EXPECT_EQ(found("struct R : Base<int> { int n = 1; };"), "n:1");
  EXPECT_EQ(found("struct R { alignas(16) float x[4]{}; };"), "x:1");
  EXPECT_EQ(found("struct alignas(16) R { float x = 0; };"), "x:1");
  EXPECT_EQ(found("struct R { void (*call)(int) = nullptr; };"), "):1") << "named by its last token, but found";
  EXPECT_EQ(found("struct R { int bits : 3 = 1; };"), "3:1");
  EXPECT_EQ(found("struct R { void f(int n = 1) { int x = 2; } int y = 3; };"), "y:1");
  EXPECT_EQ(found("struct R {\n/* \n */ // struct\n#define X \\\n  3\n int y = X; };"), "y:6");
  EXPECT_EQ(found("struct R { R() : a{1}, b{2} {} int a, b; int c = 1; };"), "c:1");
  EXPECT_EQ(found("struct R { static int f() { return 1; } int n = 1; };"), "n:1");
}

TEST(MemberInitialisers, WhatElseHasAnEqualsSignIsLeftAlone) {
  for (const char* text : {
           "struct R { float base, sum; };",
           "struct R { static constexpr int kRows = 8, kCols = 16; };",
           "struct R { using T = int; bool operator==(const R&) const = default; };",
           "struct R { R() = default; R(const R&) = delete; virtual void f() = 0; };",
           "struct R { R& operator=(const R& x) { a = x.a; return *this; } int a; };",
           "struct R { R() : a{1}, b{2} {} int a, b; };",
           "struct R { explicit R(int n) : a(n), b{n} { c = n; } int a, b, c; };",
           "struct R { void f(int a = 1, int b = {}) const { int x = 2; float y{3}; } };",
           "struct R { enum class Kind : int { kA = 1, kB = 2 }; Kind kind; };",
           "enum class Kind { kA = 1, kB };",
           "template <class T = int, int N = (3 > 2)> struct R { T a[N]; };",
           "template <class T> requires(sizeof(T) == 2) struct R { T a; };",
           "struct Nothing { void operator()(int) const {} };",
           "struct R { static_assert(sizeof(int) == 4); int a; };",
           "struct R { union { int a; float b; }; };",
           "struct R { int a; } r = {1}; R s{2};",
           "inline constexpr R kEmpty = {1, 2};",
           "void f() { R r[2][2] = {}; auto g = [n = 1](int m = 2) { return n; }; }",
           "const char* s = \"struct R { int a = 1; };\"; auto raw = R\"x(struct R { int a = 1; };)x\";",
           "struct R { int n() const { return a <= 1 && a >= 0 && a != 3; } int a; };",
           "struct R { auto f() -> int { return 1'000; } int a; };",
           "namespace a::b { int x = 1; struct S; }",
           "struct R { friend bool same(R a, R b) { bool c = true; return c; } int a; };",
           "class C { public: C(int n) : n_(n) {} private: const int& n_; float s_[2]; };",
       })
    EXPECT_EQ(found(text), "") << text;
}

TEST(MemberInitialisers, TextThatEndsAnywhereEndsToo) {
  const std::string text = "template <int N> struct R { /* c */ int a[2]{\"x\\\"\", 'c'}; R\"q(x)q\" } // end";
  for (std::size_t n = 0; n <= text.size(); ++n) find_member_initialiser(text.substr(0, n));
}

/// A list of one kernel whose header has `members`, as users write them.
std::string refusal_of(const std::string& members) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "member_initialisers";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "own.cuh") << "#pragma once\nstruct Row {\n  " << members << "\n};\nstruct Own {};\n";
  std::ofstream(folder / "kernels.txt") << "own | own.cuh | Own | 8.0\n";
  const auto recipes = read_kernel_list(folder / "kernels.txt", {folder}, "a compiler");
  return recipes ? "" : recipes.error().message;
}

TEST(MemberInitialisers, KernelsOfUsersAreRefusedBeforeTheyAreCompiled) {
  EXPECT_EQ(refusal_of("float base, sum;"), "");
  const std::string refusal = refusal_of("float base = -3e38f;");
  EXPECT_NE(refusal.find("own.cuh:3: member base has a default initialiser"), std::string::npos) << refusal;
  EXPECT_EQ(std::count(refusal.begin(), refusal.end(), '\n'), 0) << refusal;
}

}  // namespace
}  // namespace flashfit
