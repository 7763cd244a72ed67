#include "runtime/images/build/served_units.hpp"

#include <algorithm>
#include <set>

#include "runtime/images/catalogue.hpp"

namespace flashfit {

std::vector<ServedUnit> served_units(std::span<const Recipe> recipes) {
  std::vector<std::string> units;
  std::vector<std::set<Target>> targets;
  for (const Recipe& recipe : recipes) {
    for (const std::string& unit : find_kernel_variant(recipe.kernel.name)->serves) {
      const auto at = static_cast<std::size_t>(std::ranges::find(units, unit) - units.begin());
      if (at == units.size()) {
        units.push_back(unit);
        targets.emplace_back();
      }
      targets[at].insert(recipe.target);
    }
  }
  std::vector<ServedUnit> served;
  for (std::size_t i = 0; i < units.size(); ++i) served.push_back({units[i], {targets[i].begin(), targets[i].end()}});
  return served;
}

}  // namespace flashfit
