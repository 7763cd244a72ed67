#include "images/build/served_units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "attention/variants.hpp"

namespace flashfit {

std::vector<ServedUnit> served_units(std::span<const Recipe> recipes) {
  const auto head_of = [](const ForwardConfig& c) { return std::min(c.head_dim, c.head_dim_v); };
  std::map<std::pair<DType, int>, std::set<Target>> served;
  const auto config_of = [](const Recipe& r) { return find_forward_variant(r.kernel.name)->config; };
  for (const Recipe& r : recipes) served[{config_of(r).dtype, head_of(config_of(r))}];
  for (auto& [unit, targets] : served)
    for (const Recipe& r : recipes)
      if (config_of(r).dtype == unit.first && head_of(config_of(r)) >= unit.second) targets.insert(r.target);
  std::vector<ServedUnit> units;
  for (const auto& [unit, targets] : served)
    units.push_back(
        {fmt::format("{} head_dim {}", name_of(unit.first), unit.second), {targets.begin(), targets.end()}});
  return units;
}

}  // namespace flashfit
