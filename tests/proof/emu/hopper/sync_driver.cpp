// Runs the kernels that synchronise. An argument N: under every N-th schedule only. Exit 0: all right; 1: the first
// defect found, in one line.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "proof/emu/hopper/sync_cases.cpp"  // NOLINT(bugprone-suspicious-include): mutants are compiled as one file

int main(int argc, char** argv) {
  const int each = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 1;
  const std::string defect = flashfit::testing::first_hopper_defect(static_cast<std::size_t>(each));
  std::puts(defect.empty() ? "no defect" : defect.c_str());
  return defect.empty() ? 0 : 1;
}
