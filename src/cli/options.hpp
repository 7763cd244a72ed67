#pragma once
// Options whose errors say the option, the value and what is accepted.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace flashfit::cli {

/// Ends the command with status kUsage and "flashfit: MESSAGE".
[[noreturn]] void wrong(const std::string& message);
/// The same with "OPTION 'VALUE': MUST".
[[noreturn]] void wrong(const std::string& option, const std::string& value, const std::string& must);

/// A whole number from low to high; anything else is wrong().
std::int64_t whole_number(const std::string& option, const std::string& text, std::int64_t low, std::int64_t high);

/// Adds an option that takes a whole number from low to high.
CLI::Option* add_whole_number(CLI::App& app, const std::string& option, std::int64_t& value, std::int64_t low,
                              std::int64_t high, const std::string& help);

}  // namespace flashfit::cli
