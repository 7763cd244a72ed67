#pragma once
// Aligned text for people: columns as wide as their widest cell, numbers to the right.
#include <cstddef>
#include <string>
#include <vector>

namespace flashfit::cli {

struct Column {
  std::string title;
  bool right = false;  ///< align to the right
};

/// Lines that end in '\n'; the last column is not padded.
std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);

/// "812 B", "40 KB", "1.8 MB": binary units as GPUs' shared memory is counted.
std::string human_bytes(std::size_t bytes);

}  // namespace flashfit::cli
