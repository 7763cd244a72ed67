#pragma once
// Where in a kernel's source an operation stands. std::source_location would do, but clang has it only from 16 on.
#include <cstring>

namespace flashfit::emu {

/// As a defaulted last argument it names the caller's line.
struct Site {
  const char* file;
  unsigned line;

  // NOLINTNEXTLINE(google-explicit-constructor): a default argument written `= {}` takes no explicit one.
  constexpr Site(const char* caller_file = __builtin_FILE(), unsigned caller_line = __builtin_LINE())
      : file(caller_file), line(caller_line) {}

  bool operator==(const Site& other) const {
    return line == other.line && (file == other.file || std::strcmp(file, other.file) == 0);
  }
};

}  // namespace flashfit::emu
