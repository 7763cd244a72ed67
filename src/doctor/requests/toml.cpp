#include "doctor/requests/toml.hpp"

#include "core/base/printable.hpp"

namespace flashfit::doctor::requests {

tl::expected<toml::table, TomlFault> parse_toml(std::string_view text) {
  if (TomlFault fault = too_much_toml(text); !fault.message.empty()) return tl::unexpected(std::move(fault));
  toml::parse_result parsed = toml::parse(text);
  if (parsed) return std::move(parsed).table();
  const toml::parse_error& error = parsed.error();
  return tl::unexpected(TomlFault{error.source().begin.line, "no TOML: " + printable(error.description(), 300)});
}

}  // namespace flashfit::doctor::requests
