#pragma once
// A pasted traceback or log, made readable: escape codes, carriage returns and the prefixes of loggers taken off, and
// every line with its number in what was pasted.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace flashfit::doctor::pasted {

inline constexpr std::size_t kLongestText = 16U << 20;  ///< bytes; of a longer text the last ones are kept
inline constexpr std::size_t kLongestLine = 8U << 10;   ///< bytes; the rest of a longer line is left out
inline constexpr std::size_t kMostLines = 400'000;      ///< of a text with more, the last ones are kept

struct Line {
  std::size_t number = 0;  ///< in the text as pasted, from 1
  std::string text;        ///< without prefixes, escape codes and spaces at its end; what it is indented by stays
};

struct PastedText {
  std::vector<Line> lines;    ///< those that are not empty
  std::size_t left_out = 0;   ///< bytes at the top that were not read
  std::size_t cut_lines = 0;  ///< lines that were longer than kLongestLine
};

/// Any bytes. Never fails.
PastedText read_pasted(std::string_view text);

/// `line` without ANSI escape codes, and what a carriage return would leave on a terminal's line.
std::string without_escapes(std::string_view line);

/// `line` without what loggers, launchers and containers put before it: times, ranks, processes, boxes, quotes
/// (log_prefixes.cpp has the list).
std::string_view without_prefixes(std::string_view line);

}  // namespace flashfit::doctor::pasted
