#pragma once
// Idle warps of the second product add up the outputs of tokens' experts that all blocks have computed, while the other
// warps compute the next ones (docs/moe-kernels.md, "Sums between the tiles"). A warp takes a unit, kSumColumns outputs
// of some tokens, and reads a piece of each of their rows by bulk copies through a small ring of its own; lanes add in
// fp32 in the order of k, as the launch does that adds up the rest.
// No warp waits for a block that has not begun: if a phase is not complete when the last tiles are taken, the warp
// leaves it to that launch.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/steps.hpp"
#include "kernels/moe/experts/row_sum.cuh"
#include "kernels/moe/experts/wgmma/params.hpp"
#include "kernels/moe/experts/wgmma/shared.cuh"

namespace flashfit {

template <ExpertsProductConfig C>
class ExpertsTokenSums {
  using Params = WgmmaExpertsParams;
  using Shared = WgmmaExpertsShared<C>;
  using T = Element<C.dtype>;

 public:
  /// By all lanes of a warp, which is the n-th of those that add up.
  static void run(const Params& p, Shared& s, int n) { ExpertsTokenSums(p, s, n).run(); }

 private:
  static constexpr int kStages = kSumStages;

  /// A unit's choices, one a lane: a row of y or -1, and what it is multiplied by. All units have as many, the call's
  /// last ones some of no token.
  struct Unit {
    int token, column;  ///< the first ones; token -1: no unit is left
    int place;
    float weight;
  };

  ExpertsTokenSums(const Params& p, Shared& s, int n)
      : p_(p.product), phases_(p.phases), sums_(p.sums), s_(s), warp_(n), at_(0), end_(0) {}

  void run() {
    arch::wait_for_step_before();
    // Unsigned: to extend the sign for an offset would take a register that there is not.
#pragma unroll 1
    for (uint32 phase = 0; phase != uint32(phases_.count - 1); ++phase) {
      arch::mbarrier_wait(s_.told[phase], 0);
      if (!complete(phase)) return;
      add_units(phase);
    }
  }

  /// Waits until all blocks have stored their tiles of the phase, or until too few tiles are left to take: then a tile
  /// may be of a block that has not begun, and the phase is left to the next launch. Whether they have.
  bool complete(uint32 phase) const {
    int is = 0;
    if (arch::lane() == 0) {
      const int tiles = arch::load(p_.tile_count, 0) * phases_.columns.by;
      for (bool more = true; is == 0 && more;) {
        more = enough_left();
        is = arch::load_acquire(sums_.units.stored, phase) == tiles;
      }
    }
    // Each lane asks for pieces, of rows that threads stored.
    arch::sync_warp();
    arch::fence_proxy_async_global();
    return arch::shuffle(is, 0) != 0;
  }

  void add_units(uint32 phase) {
    end_ += phases_.columns.by * kPhaseColumns;
    Unit unit = read(take(phase)), next = read(take(phase));
    int ahead = take(phase);  // which is needed some time later, as next's rows are
#pragma unroll 1
    for (int i = 0; i < kStages; ++i) load(i, unit.place, unit.column, int((at_ + uint32(i)) % kStages));
    while (unit.token >= 0) {
      add(unit, next);
      unit = next;
      next = read(ahead);
      ahead = arch::lane() == 0 && enough_left() ? take(phase) : sums_.units.count;
    }
#pragma unroll 1
    for (int i = 0; i < kStages; ++i) wait();
    arch::sync_warp();
  }

  /// Whether enough tiles are left to take for a unit to be added up beside them. A warp has two units at hand, each of
  /// which takes it about as long as a tile takes its block. When the last tiles are stored first, tensor cores wait
  /// for units that the next launch would add up faster. The last 64th is about two tiles of each block, where so many
  /// tokens are there that sums are taken here.
  bool enough_left() const {
    const int64 all = int64{arch::load(p_.tile_count, 0)} * p_.columns.by;
    return arch::load_acquire(p_.taken, 0) + int64{arch::grid().x} < all - all / 64;
  }

  int take(uint32 phase) const {
    return arch::lane() == 0 ? arch::atomic_add<arch::MemoryOrder::kRelaxed>(sums_.units.taken, phase, 1) : 0;
  }

  Unit read(int taken) const {
    const ExpertsSumUnits& units = sums_.units;
    const int n = arch::shuffle(taken, 0);
    Unit unit{.token = -1, .column = 0, .place = -1, .weight = 1.f};
    if (n >= units.count) return unit;
    const int of = units.columns.quotient(n), at = (n - of * units.columns.by) * kSumColumns;
    unit.token = of * units.each.by;
    unit.column = end_ - phases_.columns.by * kPhaseColumns + at;
    const int choice = unit.token * sums_.top_k + arch::lane();
    if (arch::lane() < choices() && choice < units.tokens * sums_.top_k) {
      unit.place = arch::load(sums_.places, choice);
      if (sums_.weights != nullptr) unit.weight = arch::load(sums_.weights, choice);
    }
    return unit;
  }
  /// Of a unit, more than the ring has stages.
  int choices() const { return sums_.units.each.by * sums_.top_k; }

  void add(const Unit& unit, const Unit& next) {
    const int lane = arch::lane();
    int token = unit.token, k = 0;
    const int columns = columns_from(unit.column);
    float total[2][8] = {};
#pragma unroll 1
    for (int i = 0; i < choices(); ++i) {
      const bool is = arch::shuffle(unit.place, i) >= 0;
      const float weight = arch::shuffle(unit.weight, i);
      const int stage = wait();
      if (is) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          if (h * 256 >= columns) break;
          add_row<T>(total[h], arch::load_shared<Bytes16>(s_.pieces[warp_][stage], h * 256 + lane * 8), weight);
        }
      }
      arch::sync_warp();  // all lanes have read
      const int later = i + kStages - choices();
      load(later < 0 ? i + kStages : later, later < 0 ? unit.place : next.place, later < 0 ? unit.column : next.column,
           stage);
      if (++k < sums_.top_k) continue;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        arch::store_if(token < sums_.units.tokens && h * 256 < columns, static_cast<T*>(sums_.out),
                       token * sums_.out_row + unit.column + h * 256 + lane * 8, rounded<T>(total[h]));
#pragma unroll
        for (int j = 0; j < 8; ++j) total[h][j] = 0;
      }
      k = 0, ++token;
    }
  }

  /// Outputs of the unit that begins here.
  int columns_from(int column) const { return end_ - column < kSumColumns ? end_ - column : kSumColumns; }

  /// Issues the copy of the i-th choice's piece, by the lane that holds the choice. If the choice has no row, the stage
  /// is full at once.
  void load(int i, int place, int column, int stage) {
    if (arch::lane() != i) return;
    MBarrier& copied = s_.copied[warp_][stage];
    if (place < 0) return arch::mbarrier_arrive(copied);
    const int bytes = columns_from(column) * int(sizeof(T));
    arch::mbarrier_arrive_expect_tx(copied, bytes);
    arch::copy_bulk_to_shared(s_.pieces[warp_][stage], 0, static_cast<const T*>(p_.out),
                              int64{place} * p_.outputs + column, bytes, copied);
  }
  /// Waits until the next stage is full.
  int wait() {
    const int stage = int(at_ % kStages);
    arch::mbarrier_wait(s_.copied[warp_][stage], int(at_ / kStages % 2));
    ++at_;
    return stage;
  }

  const ExpertsProductParams& p_;
  const ExpertsPhases& phases_;
  const ExpertsTokenSumsParams& sums_;
  Shared& s_;
  const int warp_;
  uint32 at_;  // pieces so far
  int end_;    // of the phase's outputs
};

}  // namespace flashfit
