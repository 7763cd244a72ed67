#pragma once
// What people see of `flashfit bench`.
#include <chrono>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace flashfit::cli {

/// One line on a terminal: which case, of how many, time left. Nothing elsewhere.
class BenchProgress {
 public:
  explicit BenchProgress(std::size_t all);
  void show(std::size_t done, const std::string& name);
  void clear();

 private:
  std::size_t all_;
  bool terminal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A result file's cases as a table, and what is wrong.
void print_bench(const nlohmann::ordered_json& content);

}  // namespace flashfit::cli
