#pragma once
// What there is around the packages: the system in a tree, and the processor of this machine.
#include <set>
#include <string>
#include <vector>

#include "doctor/dynamic_loader/file_tree.hpp"
#include "doctor/environment/prefix.hpp"

namespace flashfit::doctor::environment {

/// PRETTY_NAME of os-release; "" if there is none.
std::string os_of(const dynamic_loader::FileTree& tree);
/// "2.36" of the tree's C library, by its banner, else by the newest version that it defines; "" if neither tells.
std::string glibc_of(const dynamic_loader::FileTree& tree);
/// Whether the tree's C library is musl: its loader lies in /lib.
bool has_musl(const dynamic_loader::FileTree& tree);
/// "docker", "podman", "kubernetes" by the marks that they leave; "" for none.
std::string container_of(const dynamic_loader::FileTree& tree);

struct Processor {
  std::string name;
  int x86_level = 0;  ///< 3: x86-64-v3; 0: unknown, or no x86-64
};
/// By the text of /proc/cpuinfo: the flags of the first processor.
Processor read_processor(const std::string& cpuinfo);
/// This machine's.
Processor processor_here();
/// That of a tree which has a file proc/cpuinfo: an image that was written with it, or the root of a process.
Processor processor_of(const dynamic_loader::FileTree& tree);

/// Names of the libraries in the system's folders, CUDA's, the prefix's lib and LD_LIBRARY_PATH's.
std::set<std::string> system_libraries(const dynamic_loader::FileTree& tree, const std::string& prefix,
                                       const Variables& variables);

}  // namespace flashfit::doctor::environment
