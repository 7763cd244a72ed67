#pragma once
// Options whose errors say the option, the value and what is accepted.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flashfit::cli {

/// Ends the command with status kUsage and "flashfit: MESSAGE".
[[noreturn]] void wrong(const std::string& message);
/// The same with "OPTION 'VALUE': MUST".
[[noreturn]] void wrong(const std::string& option, const std::string& value, const std::string& must);

/// wrong() where `file` is there and is no HTML page: a page would be written over it. "--html X.whl" lacks the page's
/// name, and X.whl would be gone.
void refuse_other_than_page(const std::string& option, const std::string& file);

/// A whole number from low to high, in digits alone (or after a minus); nothing if `text` is no such number.
std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t low, std::int64_t high);

/// Adds an option that takes a whole number from low to high; anything else is wrong().
CLI::Option* add_whole_number(CLI::App& app, const std::string& option, std::int64_t& value, std::int64_t low,
                              std::int64_t high, const std::string& help);

}  // namespace flashfit::cli
