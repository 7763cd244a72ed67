#include "doctor/knowledge/stable_abi.hpp"

#include <unordered_map>

#include "core/base/ascii.hpp"

namespace flashfit::doctor {

std::optional<int> stable_abi_since(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, int> made;
    for (const StableAbiNames& group : stable_abi_names())
      for (const std::string_view one : split(group.names, ' '))
        if (!one.empty()) made.emplace(one, group.minor);
    return made;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace flashfit::doctor
