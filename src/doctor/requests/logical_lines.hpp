#pragma once
// Text as lines that may go on behind a backslash, each with the numbers of the lines that it is made of.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace flashfit::doctor::requests {

inline constexpr std::size_t kLongestLine = std::size_t{256} << 10;  ///< characters, joined

struct LogicalLine {
  struct Start {
    std::size_t offset;
    std::uint32_t line;
  };
  std::string text;
  std::vector<Start> starts;  ///< of each line that it is made of, by offset in `text`

  std::uint32_t line() const { return starts.empty() ? 0 : starts.front().line; }
  /// The number of the line that the character at `offset` stands on.
  std::uint32_t line_at(std::size_t offset) const;
};

/// How lines are joined.
enum class Joining : unsigned char {
  kPip,     ///< a comment ends what was begun, and comments are cut off
  kDocker,  ///< comments and empty lines within are left out
};

/// Empty lines and comments are left out. Errors, which say the line: larger than limits::kListBytes, longer than
/// kLongestLine, a byte 0 (UTF-16).
Result<std::vector<LogicalLine>> logical_lines(std::string_view text, Joining joining, char escape = '\\');

}  // namespace flashfit::doctor::requests
