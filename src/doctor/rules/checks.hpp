#pragma once
// The doctor's rules. A check is a pure function over what the readers found and what was asked; each lives in a file
// of its own, *_check.cpp, and stands in the list of checks.cpp. Codes, one page each in docs/doctor/:
//   FF1xx  GPU code, GPU and driver      FF4xx  PyTorch
//   FF2xx  wheels: tags, names, metadata FF5xx  resources of kernels
//   FF3xx  the system: C library, machine, libraries needed
//   FF6xx  the loader: src/doctor/dynamic_loader/problems.hpp
//   FF7xx  an environment: src/doctor/environment; from FF750 on requirements and locks: src/doctor/requests
//   FF8xx  pasted errors: src/doctor/pasted
//   FF9xx  what could not be read
#include <span>
#include <vector>

#include "doctor/facts/facts.hpp"
#include "doctor/rules/question.hpp"
#include "doctor/rules/report.hpp"

namespace flashfit::doctor {

/// Adds what it finds; messages are printable. Never fails: what it cannot tell is a problem of Severity::kUnknown or
/// nothing.
using Check = void (*)(const Target& target, const Question& question, std::vector<Problem>& problems);

std::span<const Check> checks();

}  // namespace flashfit::doctor
