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

CLI::Option* add_whole_number(CLI::App& app, const std::string& option, std::int64_t& value, std::int64_t low,
                              std::int64_t high, const std::string& help) {
  const auto set = [=, &value](const std::string& text) {
    const auto number = whole_number(text, low, high);
    if (!number)
      wrong(option.substr(0, option.find(',')), text, fmt::format("must be a whole number from {} to {}", low, high));
    value = *number;
  };
  return app.add_option_function<std::string>(option, set, help)->type_name("N");
}

}  // namespace flashfit::cli
