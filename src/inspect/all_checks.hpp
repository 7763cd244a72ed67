#pragma once
// The checks by name, for the list of checks.cpp and for tests.
#include "inspect/checks.hpp"

namespace flashfit::inspect {

void check_reading(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_wheel_tags(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_gpu_code(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_driver(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_machine(const Target& target, const Question& question, std::vector<Problem>& problems);

}  // namespace flashfit::inspect
