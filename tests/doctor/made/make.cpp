// doctor_make FOLDER: writes the files of cases.hpp into an existing folder, for tests of the command.
#include <iostream>

#include "doctor/made/cases.hpp"

// NOLINTNEXTLINE(bugprone-exception-escape): no files, no tests
int main(int argc, char** argv) {
  using namespace flashfit::doctor::test;
  if (argc != 2) return 2;
  auto cases = origin_cases();
  for (MadeCase& one : single_cases()) cases.push_back(std::move(one));
  for (const MadeCase& one : cases) {
    if (!write_case(one, argv[1])) {
      std::cerr << one.name << " cannot be written\n";
      return 1;
    }
  }
}
