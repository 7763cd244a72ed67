#include "doctor/dynamic_loader/hwcaps.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace flashfit::doctor::dynamic_loader {

std::vector<std::string> hwcaps_of(std::string_view machine, int x86_level) {
  std::vector<std::string> names;
  if (machine != "x86_64") return names;
  constexpr int kBest = 4;
  for (int level = std::min(x86_level, kBest); level >= 2; --level) names.push_back(fmt::format("x86-64-v{}", level));
  return names;
}

}  // namespace flashfit::doctor::dynamic_loader
