#pragma once
// Another program, run to its end.
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace flashfit::measure {

struct Ended {
  std::string text;  ///< what it wrote to standard output and standard error, in its order
  int status = 0;    ///< of its exit; 128 and the signal's number where one ended it, as shells say it
};

/// `words`: the program, by its path or its name in the PATH, and its arguments. Error: it does not start.
Result<Ended> run_program(const std::vector<std::string>& words);

}  // namespace flashfit::measure
