#pragma once
// The text behind --error: a word, a file, a device, a pipe or standard input.
#include <cstddef>
#include <string>

namespace flashfit::cli {

struct GivenText {
  std::string text;
  std::string word;          ///< for a command that asks again
  std::size_t left_out = 0;  ///< bytes before `text`
  bool looks_like_a_file = false;
  bool endless = false;  ///< the rest of a stream was not read
  bool silent = false;   ///< a pipe or a device that did not end gave nothing more
};

/// Fails with a line that names --error and `error` where that is a file that cannot be read.
GivenText given_text(const std::string& error);

}  // namespace flashfit::cli
