// Runs the kernels that synchronise. Exit 0: all right; 1: the first defect found, in one line.
#include <cstdio>

#include "emu/hopper/sync_cases.cpp"

int main() {
  const std::string defect = flashfit::testing::first_hopper_defect();
  std::puts(defect.empty() ? "no defect" : defect.c_str());
  return defect.empty() ? 0 : 1;
}
