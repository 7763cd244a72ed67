#pragma once
// An environment made for a test, and what the doctor says of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "doctor/dynamic_loader/real_tree.hpp"
#include "doctor/environment/environment.hpp"
#include "doctor/environment/made_root.hpp"

namespace flashfit::doctor::environment::test {

/// Has a root with glibc 2.36, a loader and Python 3.11 in /venv while a test runs.
class MadeEnvironment : public testing::Test, protected MadeRoot {
 protected:
  MadeEnvironment()
      : MadeRoot(std::filesystem::path(testing::TempDir()) / ("flashfit_environment_" + std::to_string(getpid())),
                 "venv/lib/python3.11/site-packages") {}
  void SetUp() override {
    write("etc/os-release", "NAME=Made\nPRETTY_NAME=\"Made Linux 1\"\n");
    make_system("2.36");
    link("venv/bin/python3.11", "/usr/bin/python3.11");
    write("venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.7\n");
    std::filesystem::create_directories(root_ / site_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  EnvironmentQuestion question(const std::vector<std::string>& gpus, const std::string& driver = "") const;
  Environment look(const EnvironmentQuestion& asked) const {
    return look_at(dynamic_loader::RealTree(root_.string()), asked);
  }
  /// For GPUs by name, under a driver ("" for unknown).
  Environment look(const std::vector<std::string>& gpus, const std::string& driver = "") const {
    return look(question(gpus, driver));
  }
};

/// A package's lines "FF101 misfit MESSAGE", without notes. {"not reported"} if there is no such package.
std::vector<std::string> lines_of(const Environment& found, const std::string& name);
/// Its notes: "FF709 MESSAGE".
std::vector<std::string> notes_of(const Environment& found, const std::string& name);
/// Names of the packages that do not fit, in their order.
std::vector<std::string> culprits_of(const Environment& found);
/// Names of those that fit and have to do with GPUs; and of those among them that may fail all the same.
std::vector<std::string> cleared_by(const Environment& found);
std::vector<std::string> not_cleared_by(const Environment& found);
/// The package's command.
std::string mend_of(const Environment& found, const std::string& name);

}  // namespace flashfit::doctor::environment::test
