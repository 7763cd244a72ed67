#include "cli/options.hpp"

#include <fmt/format.h>

#include <charconv>

namespace flashfit::cli {

void wrong(const std::string& message) { throw CLI::ValidationError(message); }

void wrong(const std::string& option, const std::string& value, const std::string& must) {
  wrong(fmt::format("{} '{}': {}", option, value, must));
}

std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) return std::nullopt;
  return value;
}

}  // namespace flashfit::cli
