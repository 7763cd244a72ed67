#pragma once
// Small environments in a folder of their own: a root with a system, a virtual environment and what is installed in it.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/made/code.hpp"
#include "doctor/made/library.hpp"

namespace flashfit::doctor::environment::test {

using doctor::test::MadeCode;
using doctor::test::MadeLibrary;

/// One package to install: files below site-packages.
struct MadePackage {
  std::string name, version;
  std::map<std::string, std::vector<std::byte>> files = {};
  std::vector<std::string> requirements = {};
  bool recorded = true;       ///< false: files without *.dist-info
  std::string platform = "";  ///< of WHEEL's tag; "": that of its files, linux_x86_64 or win_amd64
};

/// A root file system in a folder; paths are below it, without a '/' at their beginning.
class MadeRoot {
 public:
  MadeRoot(std::filesystem::path root, std::string site) : site_(std::move(site)), root_(std::move(root)) {}

  void write(const std::string& path, std::string_view text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  void write(const std::string& path, const std::vector<std::byte>& bytes) const {
    write(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  void link(const std::string& path, const std::string& target) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::filesystem::create_symlink(target, root_ / path);
  }
  /// A loader that says where its folders are, a C library of this version, and Python.
  void make_system(const std::string& glibc) const;
  void install(const MadePackage& package) const;

 protected:
  std::string site_;  ///< the folder of packages
  std::filesystem::path root_;
};

/// A module of Python's with GPU code: a container for each list of targets.
std::vector<std::byte> make_module(const std::vector<std::vector<std::string>>& containers, MadeLibrary library = {},
                                   int toolkit = 128);
/// PyTorch of a version, with machine code for `targets`.
MadePackage make_torch(const std::string& version,
                       const std::vector<std::string>& targets = {"7.5", "8.0", "8.6", "9.0", "12.0"},
                       int toolkit = 128);
/// For MadeLibrary::data.
std::vector<std::byte> text_bytes(std::string_view text);
/// A library of CUDA's, empty but for its name.
std::vector<std::byte> make_shared_library(const std::string& soname);
/// A program that says which CUDA it is of, as ptxas and nvcc do.
std::vector<std::byte> make_compiler(const std::string& release);

/// A symbol of PyTorch's that every extension of today's ABI needs, and that make_torch's has.
inline constexpr const char* kTorchSymbol =
    "_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";

}  // namespace flashfit::doctor::environment::test
