#pragma once
// Registers of a warp that wgmma has: its accumulators, and A, from a product's issue to the wait that orders it.
//
// The emulator's products (proof/emu/wgmma.hpp) know arrays of a lane's registers. PTX names registers one by one, and
// compilers move accumulators from one to another while a product still writes them, which ptxas takes for a change of
// name. So an array stands for the accumulators, and their registers hold marks: numbers that no computation gives and
// that say which accumulator this is, wherever it is moved. The wait puts results where marks are. An
// instruction that computes with a mark computes with NaN.
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "proof/emu/site.hpp"
#include "proof/emu/wgmma.hpp"

namespace flashfit::ptx {

class Warp;

class LentRegisters {
 public:
  void clear();
  /// Of a fence. Products before the first one are a finding.
  void fence() { fenced_ = true; }
  bool fenced() const { return fenced_; }

  /// Issues the warp's share of a product whose accumulators are the registers in the slots `d`, and whose A, if it is
  /// in registers, in `a`. `lanes`: the rest of its operands. Returns what is wrong, or "".
  std::string issue(const Warp& warp, std::span<const std::uint32_t> d, std::span<const std::uint32_t> a,
                    std::array<emu::WgmmaOperands, 32>& lanes, const emu::Site& site);
  void commit() { groups_.push_back(issued_); }
  /// Waits for all groups but `pending`, and gives back what they had.
  void wait(const Warp& warp, int pending, const emu::Site& site);

 private:
  static constexpr int kLanes = 32;
  /// A signalling NaN, of the lowest bits which accumulator of which tile.
  static constexpr std::uint32_t kMark = 0xff900000, kMarkBits = 0xfff00000;
  static constexpr std::uint32_t kElements = 128, kMostTiles = (1 << 20) / kElements;

  struct Tile {
    std::size_t elements;       ///< of a lane
    std::vector<float> values;  ///< lane by lane
    std::uint64_t last = 0;     ///< the youngest product that writes it; 0: none does
  };
  struct A {
    std::vector<std::uint32_t> values;  ///< 4 a lane
    std::uint64_t product = 0;
  };

  /// The tile whose marks lie in these registers, in their order; nullptr: some hold something else. `some`: whether
  /// any of them holds a mark.
  Tile* marked(const Warp& warp, std::span<const std::uint32_t> d, bool& some);
  Tile& free_tile(std::size_t elements);
  A& free_a();
  void deliver(const Warp& warp);

  std::deque<Tile> tiles_;
  std::deque<A> a_;
  std::vector<std::uint64_t> groups_;  ///< where each one in flight ends
  std::uint64_t issued_ = 0, retired_ = 0;
  bool fenced_ = false;
};

}  // namespace flashfit::ptx
