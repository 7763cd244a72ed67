#include "cli/options.hpp"

#include <fmt/format.h>

#include <charconv>

namespace flashfit::cli {

void wrong(const std::string& message) { throw CLI::ValidationError(message); }

void wrong(const std::string& option, const std::string& value, const std::string& must) {
  wrong(fmt::format("{} '{}': {}", option, value, must));
}

std::int64_t whole_number(const std::string& option, const std::string& text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    wrong(option, text, fmt::format("must be a whole number from {} to {}", low, high));
  return value;
}

CLI::Option* add_whole_number(CLI::App& app, const std::string& option, std::int64_t& value, std::int64_t low,
                              std::int64_t high, const std::string& help) {
  return app
      .add_option_function<std::string>(
          option, [=, &value](const std::string& text) { value = whole_number(option, text, low, high); }, help)
      ->type_name("N");
}

}  // namespace flashfit::cli
