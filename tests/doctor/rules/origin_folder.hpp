#pragma once
// The origin cases as files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "doctor/made/cases.hpp"

namespace flashfit::doctor::test {

/// Has them in a folder of its own while a test runs.
class OriginFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    for (const MadeCase& one : origin_cases()) ASSERT_TRUE(write_case(one, folder_)) << one.name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// The file whose name holds `part`, or "".
  std::string path(const std::string& part) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().filename().string().find(part) != std::string::npos) return entry.path().string();
    return "";
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("flashfit_origin_" + std::to_string(getpid()));
};

}  // namespace flashfit::doctor::test
