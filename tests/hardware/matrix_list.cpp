// Prints the list of images that the matrix cases need: a line a kernel.
#include <cstdio>
#include <exception>
#include <set>
#include <string>

#include "matrix_cases.hpp"

int main() {
  try {
    std::set<std::string> kernels;
    flashfit::testing::for_each_matrix_case([&](const auto& c) { kernels.insert(c.expression); });
    for (const std::string& kernel : kernels)
      std::printf("%s | hardware/hopper_kernels.cuh | %s | 9.0a\n", kernel.c_str(), kernel.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hardware_matrix_list: %s\n", error.what());
    return 1;
  }
}
