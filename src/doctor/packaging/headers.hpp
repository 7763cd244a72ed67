#pragma once
// The header lines of METADATA and WHEEL files (packaging.python.org, "Core metadata": RFC 822 with unfolding).
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace flashfit::doctor {

inline constexpr std::size_t kLargestHeaders =
    1 << 20;  ///< bytes up to the empty line; a description behind it is not read
inline constexpr std::size_t kMostHeaders = 20'000;  ///< the largest seen in a wheel has about 300

struct Header {
  std::string key;    ///< lower case
  std::string value;  ///< unfolded: lines joined by one space
};

/// The headers up to the first empty line. Error: "malformed: WHAT at OFFSET" with the byte's offset in `text`.
Result<std::vector<Header>> parse_headers(std::string_view text);

}  // namespace flashfit::doctor
