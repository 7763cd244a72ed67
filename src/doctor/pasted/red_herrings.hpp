#pragma once
// Lines of a traceback that lead astray.
#include "doctor/pasted/diagnosis.hpp"

namespace flashfit::doctor::pasted {

/// The place where an asynchronous error was noticed, exceptions that were handled when it came, and those that came
/// of it.
std::vector<RedHerring> red_herrings(const Finding& error, const std::vector<Finding>& findings,
                                     const std::vector<Traceback>& tracebacks);

/// "modulation.py:71, in forward".
std::string words_of(const Frame& frame);

}  // namespace flashfit::doctor::pasted
