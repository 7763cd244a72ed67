#pragma once
// The checks by name, for the list of checks.cpp and for tests.
#include "doctor/rules/checks.hpp"

namespace flashfit::doctor {

void check_reading(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_wheel_tags(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_gpu_code(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_bundled_ptxas(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_driver(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_label(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_machine(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_c_library(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_cxx_library(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_executable_stack(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_processor(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_libraries(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_vendored_driver(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_mislabelled(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_python_abi(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_python_modules(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_torch(const Target& target, const Question& question, std::vector<Problem>& problems);
void check_kernel_limits(const Target& target, const Question& question, std::vector<Problem>& problems);

}  // namespace flashfit::doctor
