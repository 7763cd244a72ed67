#pragma once
// Small environments in a folder of their own: a root with a system, a virtual environment and what is installed in it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "environment/environment.hpp"
#include "inspect/made_code.hpp"
#include "inspect/made_library.hpp"
#include "loader/real_tree.hpp"

namespace flashfit::environment::test {

using inspect::test::MadeCode;
using inspect::test::MadeLibrary;

/// One package to install: files below site-packages.
struct MadePackage {
  std::string name, version;
  std::map<std::string, std::vector<std::byte>> files = {};
  std::vector<std::string> requirements = {};
  bool recorded = true;  ///< false: files without *.dist-info
};

/// Has a root with glibc 2.36, a loader and Python 3.11 in /venv while a test runs.
class MadeEnvironment : public testing::Test {
 protected:
  void SetUp() override {
    write("etc/os-release", "NAME=Made\nPRETTY_NAME=\"Made Linux 1\"\n");
    make_system("2.36");
    link("venv/bin/python3.11", "/usr/bin/python3.11");
    write("venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.7\n");
    std::filesystem::create_directories(root_ / site_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

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

  EnvironmentQuestion question(const std::vector<std::string>& gpus, const std::string& driver = "") const;
  Environment look(const EnvironmentQuestion& asked) const { return look_at(loader::RealTree(root_.string()), asked); }
  /// For GPUs by name, under a driver ("" for unknown).
  Environment look(const std::vector<std::string>& gpus, const std::string& driver = "") const {
    return look(question(gpus, driver));
  }

  std::string site_ = "venv/lib/python3.11/site-packages";
  std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) / ("flashfit_environment_" + std::to_string(getpid()));
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

/// A package's lines "FF101 misfit MESSAGE", without notes. {"not reported"} if there is no such package.
std::vector<std::string> lines_of(const Environment& found, const std::string& name);
/// Its notes: "FF709 MESSAGE".
std::vector<std::string> notes_of(const Environment& found, const std::string& name);
/// Names of the packages that do not fit, in their order.
std::vector<std::string> culprits_of(const Environment& found);
/// Names of those that fit and have to do with GPUs.
std::vector<std::string> cleared_by(const Environment& found);
/// The package's command.
std::string mend_of(const Environment& found, const std::string& name);

}  // namespace flashfit::environment::test
