#pragma once
// Lists of names in messages.
#include <fmt/format.h>

#include <span>
#include <string>

namespace flashfit::doctor {

/// "a, b, c and 5 more": at most `most` of them.
inline std::string listed(std::span<const std::string> names, std::size_t most = 3) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

}  // namespace flashfit::doctor
