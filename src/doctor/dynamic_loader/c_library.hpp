#pragma once
// What a tree's own loader was built with: told by its bytes, as no file says it.
#include <string>
#include <vector>

#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::dynamic_loader {

struct GlibcVersion {
  int major = 0, minor = 0;  ///< 0.0: unknown
  auto operator<=>(const GlibcVersion&) const = default;
};

struct CLibrary {
  std::string interpreter;                   ///< path of the loader, as programs ask for it
  GlibcVersion version;                      ///< by its banner; glibc has it there from 2.33 on
  std::vector<std::string> default_folders;  ///< "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", ...
  std::string lib;                           ///< what $LIB stands for
};

/// "/lib64/ld-linux-x86-64.so.2" of "x86_64"; "" of a machine that the model does not know.
std::string usual_interpreter(std::string_view machine);

/// Never fails: what a loader that is not there or not glibc's does not say is guessed by the folders that are there.
CLibrary find_c_library(const FileTree& tree, std::string_view machine, const std::string& interpreter);

}  // namespace flashfit::doctor::dynamic_loader
