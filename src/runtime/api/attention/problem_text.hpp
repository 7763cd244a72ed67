#pragma once
// A problem's options in words, for logs and the command.
#include <string>

#include "kernels/attention/problem.hpp"

namespace flashfit::api {

/// ", window 128 left and 0 right, softcap, ALiBi, bool bias": what is asked for beyond q, k and v; "" if nothing is.
std::string options_text(const ForwardProblem& problem);

}  // namespace flashfit::api
