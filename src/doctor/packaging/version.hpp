#pragma once
// Versions of Python packages (packaging.python.org, "Version specifiers": the scheme of PEP 440), compared as pip
// does.
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace flashfit::doctor {

inline constexpr std::size_t kLongestVersion = 256;  ///< characters; the longest seen in a wheel has 60

struct Version {
  enum class Phase : unsigned char { kAlpha, kBeta, kCandidate };
  struct Pre {
    Phase phase;
    std::uint64_t number;
    auto operator<=>(const Pre&) const = default;
  };

  std::uint64_t epoch = 0;
  std::vector<std::uint64_t> release;  ///< at least one number
  std::optional<Pre> pre;
  std::optional<std::uint64_t> post, dev;
  std::string local;  ///< lower case, parts joined by '.': "cu124.torch2.6"; "" if there is none
  std::string text;   ///< as written, without space around it: what `===` compares

  bool is_prerelease() const { return pre || dev; }
  /// Without the local part.
  Version public_part() const;
  /// 1.0 and 1.0.0 are equal; `text` takes no part.
  std::strong_ordering operator<=>(const Version& other) const;
  bool operator==(const Version& other) const { return (*this <=> other) == std::strong_ordering::equal; }
};

/// Error: one line with the text and what is wrong; a number of more than 18 digits is refused.
Result<Version> parse_version(std::string_view text);

}  // namespace flashfit::doctor
