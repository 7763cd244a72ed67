// inspect_make FOLDER: writes the files of made_cases.hpp into an existing folder, for tests of the command.
#include <fstream>
#include <iostream>

#include "inspect/made_cases.hpp"

// NOLINTNEXTLINE(bugprone-exception-escape): no files, no tests
int main(int argc, char** argv) {
  using namespace flashfit::inspect::test;
  if (argc != 2) return 2;
  auto cases = origin_cases();
  for (MadeCase& one : single_cases()) cases.push_back(std::move(one));
  for (const MadeCase& one : cases) {
    std::ofstream file(std::string(argv[1]) + "/" + one.name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(one.content.data()), static_cast<std::streamsize>(one.content.size()));
    if (!file.flush()) {
      std::cerr << one.name << " cannot be written\n";
      return 1;
    }
  }
}
