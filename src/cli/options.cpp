#include "cli/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"

namespace flashfit::cli {

void wrong(const std::string& message) { throw CLI::ValidationError(message); }

void wrong(const std::string& option, const std::string& value, const std::string& must) {
  wrong(fmt::format("{} '{}': {}", option, value, must));
}

void refuse_other_than_page(const std::string& option, const std::string& file) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none) || std::filesystem::file_size(file, none) == 0) return;
  constexpr std::string_view kPage = "<!doctype html";
  std::string head(kPage.size(), '\0');
  if (std::ifstream(file, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size())) &&
      lower(head) == kPage)
    return;
  wrong(option, printable(file, 300),
        "is a file, and no page that may be written over; accepted: a new file or a page");
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
