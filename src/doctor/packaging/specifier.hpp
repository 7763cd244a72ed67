#pragma once
// Version specifiers (packaging.python.org, "Version specifiers"): ">=3.9,!=3.9.0", as in Requires-Python.
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "doctor/packaging/version.hpp"

namespace flashfit::doctor {

inline constexpr std::size_t kLongestSpecifiers = 4096;  ///< characters

struct Specifier {
  enum class Operator : unsigned char {
    kCompatible,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kSame
  };
  Operator op;
  Version version;        ///< not for kSame
  bool wildcard = false;  ///< "==3.9.*": version is 3.9
  std::string text;       ///< the clause as written, without space around it
};

/// All clauses must hold; none accepts everything.
using Specifiers = std::vector<Specifier>;

/// Error: one line that names the clause.
Result<Specifiers> parse_specifiers(std::string_view text);

/// Whether one clause takes this version, pre-releases included, as pip asks of Requires-Python.
bool accepts(const Specifier& clause, const Version& version);
/// The first clause that refuses the version; nullptr if all take it.
const Specifier* refusing(const Specifiers& clauses, const Version& version);

}  // namespace flashfit::doctor
