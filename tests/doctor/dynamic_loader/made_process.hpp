#pragma once
// A tree with a system of its own: a loader that says where its folders are, a C library, a program.
#include <string>

#include "doctor/dynamic_loader/made_tree.hpp"
#include "doctor/made/library.hpp"

namespace flashfit::doctor::dynamic_loader::test {

using doctor::test::MadeLibrary;

inline std::vector<std::byte> text_bytes(std::string_view text) { return doctor::test::MadeBytes().add(text).bytes(); }

constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";
constexpr const char* kProgram = "/usr/bin/python3";

/// Default folders /lib64 and /usr/lib64; "release version GLIBC".
inline MadeTree make_system(const std::string& glibc = "2.36") {
  MadeTree tree;
  using namespace std::string_literals;
  tree.add_file(kLoader, MadeLibrary{.soname = "ld-linux-x86-64.so.2",
                                     .data = text_bytes("x\0/lib64/\0/usr/lib64/\0y\0stable release version "s + glibc +
                                                        ".\n\0"s)}
                             .bytes());
  tree.add_file("/usr/lib64/libc.so.6", MadeLibrary{.soname = "libc.so.6",
                                                    .needed = {"ld-linux-x86-64.so.2"},
                                                    .exports = {"puts"},
                                                    .defines = {"GLIBC_2.2.5", "GLIBC_2.34"}}
                                            .bytes());
  tree.add_file(kProgram, MadeLibrary{.needed = {"libc.so.6"}, .interpreter = kLoader}.bytes());
  return tree;
}

}  // namespace flashfit::doctor::dynamic_loader::test
