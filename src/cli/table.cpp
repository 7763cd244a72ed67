#include "cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace flashfit::cli {

std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t width = columns[i].title.size();
    for (const auto& row : rows) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  std::string out;
  const auto line = [&](const auto& cell_of) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string& cell = cell_of(i);
      if (i > 0) out += "  ";
      if (columns[i].right)
        out += fmt::format("{:>{}}", cell, widths[i]);
      else if (i + 1 < columns.size())
        out += fmt::format("{:<{}}", cell, widths[i]);
      else
        out += cell;
    }
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  };
  line([&](std::size_t i) -> const std::string& { return columns[i].title; });
  for (const auto& row : rows) line([&](std::size_t i) -> const std::string& { return row[i]; });
  return out;
}

std::string human_bytes(std::size_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.4g} KB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / (1024 * 1024));
}

}  // namespace flashfit::cli
