#pragma once
// How deeply a TOML text nests, told before a parser sees it: parsers call themselves for each level, and look a key of
// many parts up from its first part on for each of its values.
#include <cstdint>
#include <string>
#include <string_view>

namespace flashfit::doctor::requests {

/// What is wrong with a text, and on which of its lines.
struct TomlFault {
  std::uint32_t line = 0;  ///< from 1
  std::string message;     ///< "" where nothing is
};

/// Tables, arrays and the parts of keys beyond limits::kNesting, or more values than limits::kTomlValues. Of a text
/// that is no TOML it may say anything, but never too little.
TomlFault too_much_toml(std::string_view text);

}  // namespace flashfit::doctor::requests
