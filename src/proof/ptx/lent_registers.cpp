#include "proof/ptx/lent_registers.hpp"

#include <algorithm>
#include <cstring>

#include "proof/emu/matrix_ops.hpp"
#include "proof/ptx/warp.hpp"

namespace flashfit::ptx {
namespace {

constexpr int kLanes = 32;

/// Calls a fence or wait of the emulator with arrays that each lane has.
void call(const emu::Collective& op, std::span<const std::span<std::byte>> arrays, int pending, const emu::Site& site) {
  std::vector<emu::RegisterArray> all(arrays.size() * kLanes);
  std::array<emu::WgmmaRegistersCall, kLanes> calls;
  std::array<void*, kLanes> lanes;
  for (std::size_t l = 0; l < kLanes; ++l) {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const std::size_t bytes = arrays[i].size() / kLanes;
      all[l * arrays.size() + i] = {arrays[i].data() + l * bytes, bytes};
    }
    calls[l] = {{all.data() + l * arrays.size(), arrays.size()}, pending, site};
    lanes[l] = &calls[l];
  }
  op.execute(lanes.data());
}

}  // namespace

void LentRegisters::clear() {
  for (Tile& t : tiles_) t.last = 0;
  for (A& a : a_) a.product = 0;
  groups_.clear();
  issued_ = retired_ = 0;
  fenced_ = false;
}

LentRegisters::Tile* LentRegisters::marked(const Warp& warp, std::span<const std::uint32_t> d, bool& some) {
  some = false;
  bool all = true;
  const std::uint32_t first = *warp.at<std::uint32_t>(d[0]);
  for (std::size_t e = 0; e < d.size(); ++e)
    for (std::size_t l = 0; l < kLanes; ++l) {
      const std::uint32_t held = warp.at<std::uint32_t>(d[e])[l];
      const std::uint32_t tile = (held & ~kMarkBits) / kElements;
      some |= (held & kMarkBits) == kMark && tile < tiles_.size() && tiles_[tile].last != 0;
      all &= held == first + e;
    }
  const std::uint32_t tile = (first & ~kMarkBits) / kElements;
  all &= some && first % kElements == 0 && tile < tiles_.size() && tiles_[tile].elements == d.size();
  return all ? &tiles_[tile] : nullptr;
}

LentRegisters::Tile& LentRegisters::free_tile(std::size_t elements) {
  const auto found = std::ranges::find_if(tiles_, [&](const Tile& t) { return t.last == 0 && t.elements == elements; });
  if (found != tiles_.end()) return *found;
  return tiles_.emplace_back(Tile{elements, std::vector<float>(elements * kLanes)});
}

LentRegisters::A& LentRegisters::free_a() {
  const auto found = std::ranges::find_if(a_, [this](const A& a) { return a.product <= retired_; });
  if (found != a_.end()) return *found;
  return a_.emplace_back(A{std::vector<std::uint32_t>(4 * kLanes)});
}

std::string LentRegisters::issue(const Warp& warp, std::span<const std::uint32_t> d, std::span<const std::uint32_t> a,
                                 std::array<emu::WgmmaOperands, 32>& lanes, const emu::Site& site) {
  if (!fenced_) return "no wgmma.fence before the first wgmma";
  bool some = false;
  Tile* tile = marked(warp, d, some);
  if (tile == nullptr && some)
    return "some of the accumulators are in flight, and of another shape or in another order";
  std::vector<std::span<std::byte>> named;
  if (tile == nullptr) {
    tile = &free_tile(d.size());
    if (tiles_.size() > kMostTiles) return "more products in flight than are taken";
    for (std::size_t e = 0; e < d.size(); ++e)
      for (std::size_t l = 0; l < kLanes; ++l) tile->values[l * d.size() + e] = warp.at<float>(d[e])[l];
    named.push_back(std::as_writable_bytes(std::span(tile->values)));
  }
  A* shadow = nullptr;
  if (!a.empty()) {
    shadow = &free_a();
    for (std::size_t r = 0; r < a.size(); ++r)
      for (std::size_t l = 0; l < kLanes; ++l) shadow->values[l * a.size() + r] = warp.at<std::uint32_t>(a[r])[l];
    named.push_back(std::as_writable_bytes(std::span(shadow->values)));
  }
  if (!named.empty()) call(emu::kWgmmaFence, named, 0, site);
  std::array<emu::WgmmaCall, kLanes> calls;
  std::array<void*, kLanes> pointers;
  for (std::size_t l = 0; l < kLanes; ++l) {
    lanes[l].d = tile->values.data() + l * d.size();
    lanes[l].a = shadow != nullptr ? shadow->values.data() + l * a.size() : nullptr;
    calls[l] = {lanes[l], site};
    pointers[l] = &calls[l];
  }
  emu::kWgmma.execute(pointers.data());
  tile->last = ++issued_;
  if (shadow != nullptr) shadow->product = issued_;
  const auto number = static_cast<std::uint32_t>(
      std::ranges::find_if(tiles_, [tile](const Tile& t) { return &t == tile; }) - tiles_.begin());
  for (std::uint32_t e = 0; e < d.size(); ++e)
    std::fill_n(warp.at<std::uint32_t>(d[e]), kLanes, kMark | (number * kElements + e));
  return {};
}

void LentRegisters::wait(const Warp& warp, int pending, const emu::Site& site) {
  emu::await_warpgroup(pending, site);
  if (groups_.size() > static_cast<std::size_t>(pending)) {
    const auto last = groups_.end() - 1 - pending;
    retired_ = *last;
    groups_.erase(groups_.begin(), last + 1);
  }
  std::vector<std::span<std::byte>> done;
  for (Tile& t : tiles_)
    if (t.last != 0 && t.last <= retired_) done.push_back(std::as_writable_bytes(std::span(t.values)));
  call(emu::kWgmmaWait, done, pending, site);
  if (!done.empty()) deliver(warp);
}

void LentRegisters::deliver(const Warp& warp) {
  for (const std::uint32_t slot : warp.program().word_slots) {
    auto* const held = warp.at<std::uint32_t>(slot);
    for (std::size_t l = 0; l < kLanes; ++l) {
      if ((held[l] & kMarkBits) != kMark) break;  // all lanes lend together
      const std::uint32_t mark = held[l] & ~kMarkBits, number = mark / kElements, element = mark % kElements;
      if (number >= tiles_.size()) break;
      const Tile& t = tiles_[number];
      if (t.last == 0 || t.last > retired_ || element >= t.elements) break;
      std::memcpy(held + l, &t.values[l * t.elements + element], sizeof(float));
    }
  }
  for (Tile& t : tiles_)
    if (t.last <= retired_) t.last = 0;
}

}  // namespace flashfit::ptx
