#pragma once
// Words of a command, as a shell splits and unquotes them.
#include <cstdint>
#include <string>
#include <vector>

#include "doctor/requests/logical_lines.hpp"

namespace flashfit::doctor::requests {

struct Word {
  std::string text;
  std::uint32_t line = 0;
};
using Command = std::vector<Word>;

/// The words of a line from `from` on, split at space alone, quotes and backslashes taken away (Python's shlex).
Command plain_words(const LogicalLine& line, std::size_t from);

/// The simple commands of a line: apart at ; & | and new lines, brackets, and words that open or close a block
/// ("if", "then", "do", "{"). Quotes and backslashes are taken away; '$' stays, as variables are not known here.
/// A redirection is no word. What is not closed ends with the line.
std::vector<Command> shell_commands(const LogicalLine& line, std::size_t from);

}  // namespace flashfit::doctor::requests
