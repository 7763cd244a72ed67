#pragma once
// The warpgroups of a block.
#include <optional>
#include <string>
#include <vector>

#include "proof/emu/order.hpp"
#include "proof/emu/wgmma.hpp"

namespace flashfit::emu {

/// Made when they first issue something: few kernels do.
class Warpgroups {
 public:
  struct Unit {
    Warpgroup warpgroup;
    int agent;                 ///< whose epochs are the numbers of its products, from 1 on
    std::vector<int> waiting;  ///< threads whose wait orders what other warps have yet to issue
  };

  Warpgroups(SharedWindow shared, int warps)
      : shared_(shared), units_(static_cast<std::size_t>(warps / Warpgroup::kWarps)) {}

  /// The unit of the block's warp `warp`, or nullptr if its warpgroup is not whole.
  Unit* of(int warp, Order& order) {
    const auto i = static_cast<std::size_t>(warp / Warpgroup::kWarps);
    if (i >= units_.size()) return nullptr;
    if (!units_[i]) units_[i].emplace(Unit{Warpgroup(shared_), order.new_agent(), {}});
    return &*units_[i];
  }
  /// What the block's last thread leaves behind, or "".
  std::string unfinished() const {
    for (const auto& unit : units_)
      if (unit)
        if (std::string left = unit->warpgroup.unfinished(); !left.empty()) return left;
    return {};
  }
  const SharedWindow& shared() const { return shared_; }

 private:
  SharedWindow shared_;
  std::vector<std::optional<Unit>> units_;
};

}  // namespace flashfit::emu
