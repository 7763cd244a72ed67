#pragma once
// One of a few words.
#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "cli/options.hpp"

namespace flashfit::cli {

/// The entry of that name, or wrong() with the names of all.
template <class Named, std::size_t N>
const Named& pick(const Named (&all)[N], const std::string& option, const std::string& name) {
  std::string names;
  for (std::size_t i = 0; i < N; ++i) {
    if (name == all[i].name) return all[i];
    names += fmt::format("{}{}", i == 0 ? "" : i + 1 < N ? ", " : " or ", all[i].name);
  }
  wrong(option, name, "must be " + names);
}

}  // namespace flashfit::cli
