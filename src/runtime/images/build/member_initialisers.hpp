#pragma once
// A rule for the headers that kernels are made of: their types have no default member initialisers. NVRTC (12.4
// to 13.2) gives them to the first row alone of an array of two or more dimensions; the others begin as whatever a
// register holds (docs/nvrtc-array-initialisers.md).
#include <optional>
#include <string>
#include <string_view>

namespace flashfit {

struct MemberInitialiser {
  std::string member;
  int line;  ///< from 1
};

/// The first non-static data member of a class, struct or union in C++ `text` that has an initialiser: `int a = 1;`,
/// `int a{1};`, in classes of functions and templates too. It reads tokens, not types: text that does not compile may
/// give anything.
std::optional<MemberInitialiser> find_member_initialiser(std::string_view text);

}  // namespace flashfit
