#include "runtime/images/build/compiler_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

namespace flashfit {
namespace {

constexpr const char* kValue = "1088946176";  // the bits of 7.25f, as PTX writes them

/// The kernel's PTX stores constants, or registers that a mov gave one.
int constants_stored(const std::string& ptx) {
  static const std::regex move(R"(mov\.[bu]32\s+(%\w+), (\w+);)");
  static const std::regex store(R"(st(?:\.\w+)*\.[bu]32\s+\[[^\]]*\], (%?\w+);)");
  static const std::regex vector_store(R"(st(?:\.\w+)*\.v[24]\.[bu]32\s+\[[^\]]*\], \{([^}]*)\};)");
  static const std::regex word(R"(%?\w+)");
  std::set<std::string> holds = {kValue};
  for (std::sregex_iterator i(ptx.begin(), ptx.end(), move), end; i != end; ++i)
    if ((*i)[2] == kValue) holds.insert((*i)[1]);
  int count = 0;
  for (std::sregex_iterator i(ptx.begin(), ptx.end(), store), end; i != end; ++i)
    count += holds.contains((*i)[1]) ? 1 : 0;
  for (std::sregex_iterator i(ptx.begin(), ptx.end(), vector_store), end; i != end; ++i) {
    const std::string values = (*i)[1];
    for (std::sregex_iterator v(values.begin(), values.end(), word); v != end; ++v)
      count += holds.contains(v->str()) ? 1 : 0;
  }
  return count;
}

}  // namespace

// R is the element, `value` is 7.25; out is a float*.
const std::vector<Construct>& constructs() {
  static const std::vector<Construct> all = {
      {"a constructor, one dimension",
       "struct R { float a; R() : a(value) {} }; R r[4]; for (int i = 0; i < 4; ++i) out[i] = r[i].a;", true},
      {"a constructor, two dimensions",
       "struct R { float a; R() : a(value) {} }; R r[2][2]; for (int i = 0; i < 4; ++i) out[i] = r[i / 2][i % 2].a;",
       true},
      {"a constructor, three dimensions",
       "struct R { float a; R() { a = value; } }; R r[2][1][2];"
       "for (int i = 0; i < 4; ++i) out[i] = r[i / 2][0][i % 2].a;",
       true},
      {"members of a class, two dimensions",
       "struct R { float a; R() : a(value) {} }; struct S { R r[2][2]; }; S s;"
       "for (int i = 0; i < 4; ++i) out[i] = s.r[i / 2][i % 2].a;",
       true},
      {"a list of initialisers",
       "struct R { float a; }; R r[2][2] = {{{value}, {value}}, {{value}, {value}}};"
       "for (int i = 0; i < 4; ++i) out[i] = r[i / 2][i % 2].a;",
       true},
      {"= {} of numbers", "float r[2][2] = {}; for (int i = 0; i < 4; ++i) out[i] = r[i / 2][i % 2] + value;", true},
      {"= {} of numbers, three dimensions",
       "float r[2][1][2] = {}; for (int i = 0; i < 4; ++i) out[i] = r[i / 2][0][i % 2] + value;", true},
      {"= {} of a class without initialisers",
       "struct R { float a, b; }; R r[2][2] = {}; for (int i = 0; i < 4; ++i) out[i] = r[i / 2][i % 2].a + value"
       " + r[i / 2][i % 2].b;",
       true},
      {"a shorter list than elements",
       "float r[2][2] = {{value}}; r[0][1] += value; r[1][0] += value; r[1][1] += value;"
       "for (int i = 0; i < 4; ++i) out[i] = r[i / 2][i % 2];",
       true},
      {"assignment of each element",
       "struct R { float a; }; constexpr R kOne = {value}; R r[2][2];"
       "for (int i = 0; i < 4; ++i) r[i / 2][i % 2] = kOne;"
       "for (int i = 0; i < 4; ++i) out[i] = r[i / 2][i % 2].a;",
       true},
      {"a copy of a class",
       "struct S { float a[2][2]; }; S s; for (int i = 0; i < 4; ++i) s.a[i / 2][i % 2] = value; S t = s;"
       "for (int i = 0; i < 4; ++i) out[i] = t.a[i / 2][i % 2];",
       true},
      {"a copy by a constructor",
       "struct R { float a; R() = default; R(const R& r) : a(r.a) {} }; struct S { R r[2][2]; }; S s;"
       "for (int i = 0; i < 4; ++i) s.r[i / 2][i % 2].a = value; S t = s;"
       "for (int i = 0; i < 4; ++i) out[i] = t.r[i / 2][i % 2].a;",
       true},
      {"a capture by value",
       "float r[2][2]; for (int i = 0; i < 4; ++i) r[i / 2][i % 2] = value;"
       "auto f = [r](int i) { return r[i / 2][i % 2]; }; for (int i = 0; i < 4; ++i) out[i] = f(i);",
       true},
      {"default member initialisers, one dimension",
       "struct R { float a = value; }; R r[4]; for (int i = 0; i < 4; ++i) out[i] = r[i].a;", false},
      {"default member initialisers, two dimensions",
       "struct R { float a = value; }; R r[2][2]; for (int i = 0; i < 4; ++i) out[i] = r[i / 2][i % 2].a;", false},
      {"default member initialisers and = {}, two dimensions",
       "struct R { float a = value; }; R r[2][2] = {}; for (int i = 0; i < 4; ++i) out[i] = r[i / 2][i % 2].a;", false},
      {"default member initialisers of a base, two dimensions",
       "struct Q { float a = value; }; struct R : Q {}; R r[2][2];"
       "for (int i = 0; i < 4; ++i) out[i] = r[i / 2][i % 2].a;",
       false},
  };
  return all;
}

Result<int> elements_initialised(const Construct& construct, const Nvrtc& nvrtc) {
  const std::string source =
      fmt::format("constexpr float value = 7.25f;\n__global__ void probe(float* out) {{\n{}\n}}\n", construct.code);
  const Result<Compiled> made =
      nvrtc.compile(source, "probe", {"--gpu-architecture=compute_80", "--std=c++20", "-default-device"}, true);
  if (!made) return fail(made.error().code, fmt::format("{}: {}", construct.name, made.error().message));
  const std::string ptx(reinterpret_cast<const char*>(made->bytes.data()), made->bytes.size());
  if (ptx.find(made->entry) == std::string::npos)
    return fail(Code::kInternal, fmt::format("{}: PTX has no kernel {}", construct.name, made->entry));
  return constants_stored(ptx);
}

Result<std::string> probe_compiler(const Nvrtc& nvrtc) {
  std::string known;
  for (const Construct& construct : constructs()) {
    const Result<int> right = elements_initialised(construct, nvrtc);
    if (!right) return tl::unexpected(right.error());
    if (*right == 4) continue;
    if (construct.relied_on)
      return fail(Code::kInternal,
                  fmt::format("NVRTC {} initialises {} of 4 elements of an array by {}: kernels rely on it",
                              nvrtc.version(), *right, construct.name));
    known += fmt::format("{}{} of 4 elements by {}", known.empty() ? "" : ", ", *right, construct.name);
  }
  return known.empty() ? fmt::format("NVRTC {} initialises all that is probed", nvrtc.version())
                       : fmt::format("NVRTC {} initialises {} (known, not relied on)", nvrtc.version(), known);
}

}  // namespace flashfit
