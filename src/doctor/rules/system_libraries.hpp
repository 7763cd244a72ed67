#pragma once
// The versions of the C and C++ runtime libraries: what a library needs, what a tag or a system promises.
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts/facts.hpp"

namespace flashfit::doctor {

/// A version of glibc, of GLIBCXX_3.4.x (libstdc++) or of CXXABI_1.3.x.
struct RuntimeVersion {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const RuntimeVersion&) const = default;
  /// "2.34", "3.4.29"
  std::string str() const;
};

/// "GLIBC_2.34" after the prefix "GLIBC_" -> 2.34; nothing for another prefix or what is no number.
std::optional<RuntimeVersion> parse_runtime_version(std::string_view version, std::string_view prefix);

struct RuntimeFloor {
  RuntimeVersion version;
  std::vector<std::string> symbols;  ///< the first few that need it
};

/// The newest version with this prefix ("GLIBC_", "GLIBCXX_", "CXXABI_") that the binary needs; nothing if it needs
/// none. "GLIBC_ABI_DT_RELR" counts as 2.36, which brought it.
std::optional<RuntimeFloor> floor_of(const Binary& binary, std::string_view prefix);

/// The newest GLIBCXX_3.4.x (the x) of systems that a manylinux tag of this glibc may ask for. Source: auditwheel's
/// policies (manylinux-policy.json, x86_64).
int glibcxx_of_glibc(int major, int minor);

/// The first GCC with this GLIBCXX_3.4.x: "12". Source: libstdc++ manual, "ABI Policy and Guidelines".
std::string gcc_of_glibcxx(int patch);

}  // namespace flashfit::doctor
