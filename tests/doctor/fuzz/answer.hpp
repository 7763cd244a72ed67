#pragma once
// What every answer of the rules must be, whatever was asked.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/error.hpp"

namespace flashfit::doctor::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// A message is one line of printable ASCII, and no longer than a page, however long the input.
inline void require_line(std::string_view message) {
  require(!message.empty() && message.size() < 4000);
  for (const char c : message) require(c >= ' ' && c < 0x7f);
}

template <class T>
void require_answer(const Result<T>& result) {
  if (!result) require_line(result.error().message);
}

}  // namespace flashfit::doctor::fuzz
