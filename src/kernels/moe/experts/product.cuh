#pragma once
// One of the experts' two products over mma.sync (docs/moe-kernels.md derives it): for each row r of expert e
//   out[r, o] = f(sum over d of a[row of r, d] w[e, o, d] + bias[e, o]).
// A block owns tile_rows rows of one expert and tile_columns outputs; which ones it finds in the list of tiles that the
// sort made, so that counts may change between replays of a graph. One token's choices need no sort: each is a tile of
// one row, whose expert a block finds by its id. Blocks that share weights are neighbours: a band of an expert's rows
// (order.hpp) reads them from DRAM once. Slices of `depth` of both operands stream through a ring of `stages`.
// With a gate half of a tile's outputs are gate's and half up's, of the same features, and a warp has both of a feature
// in the same thread: the activation needs no other.
// A block issues copies of its first slices of weights before it waits for the step before it, which writes only rows.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/fragments.hpp"
#include "kernels/arch/steps.hpp"
#include "kernels/layout/fragment.hpp"
#include "kernels/layout/swizzle.hpp"
#include "kernels/moe/experts/activation.cuh"
#include "kernels/moe/experts/config.hpp"
#include "kernels/moe/experts/ids.cuh"
#include "kernels/moe/experts/order.hpp"
#include "kernels/moe/experts/params.hpp"
#include "kernels/moe/experts/slice_copy.cuh"

namespace flashfit {

template <ExpertsProductConfig C>
struct ExpertsProductKernel {
  static_assert(experts_product_config_error(C) == nullptr && C.engine == ExpertsEngine::kMma);
  using Params = ExpertsProductParams;
  using T = Element<C.dtype>;
  static_assert(arch::kHas<T>, "bf16 needs compute capability 8.0");
  using TileA = SwizzledTile<T, C.tile_rows, C.depth>;
  using TileW = SwizzledTile<T, C.tile_columns, C.depth>;           // [outputs, depth]
  using TileTransposed = SwizzledTile<T, C.depth, C.tile_columns>;  // [depth, outputs]
  struct Slice {
    TileA a;
    union {
      TileW w;
      TileTransposed transposed;
    };
  };
  struct Shared {
    Slice ring[C.stages];
  };
  static_assert(sizeof(Shared) == experts_product_shared_bytes(C));
  static constexpr int kThreads = experts_product_threads(C), kMinBlocks = C.min_blocks;

  static void run(const Params& p) {
    if (p.sorted_before == 0) arch::wait_for_step_before();
    arch::let_next_step_begin();
    const Place place = find(p, arch::block().x);
    // Each block waits, also one without a tile: the step after this one takes all before it as ended.
    if (place.rows == 0) return arch::wait_for_step_before();
    if (p.transposed != 0)
      multiply<true>(p, place);
    else
      multiply<false>(p, place);
  }

 private:
  static constexpr int kHalf = C.tile_columns / 2;  // outputs of gate, or of up
  static constexpr int kM = C.tile_rows / C.row_warps / 16, kN = C.tile_columns / C.column_warps / 8;
  static constexpr int kWarpHalf = kHalf / C.column_warps;  // a warp's outputs of gate, or of up
  static constexpr int kNext = kWarpHalf == 8 ? kHalf : 8;  // from an even n8 tile's first output to the odd one's
  using Sums = float[kM][kN][4];

  /// What a block computes.
  struct Place {
    int expert, first_row;
    int rows;          ///< of the expert from first_row on
    int first_output;  ///< counts features
  };

  /// What the block that is `work` computes; without rows if it has no tile.
  static Place find(const Params& p, int work) {
    int column;
    Place place{};
    if (experts_finds_choices(C) && p.tiles == nullptr) {
      const int choice = p.columns.quotient(work);
      const uint32 expert = expert_of(uint32(arch::load(p.ids, choice)), p.here);
      column = work - choice * p.columns.by;
      place.expert = int(expert);
      place.first_row = choice;
      place.rows = expert < uint32(p.here.owned) ? 1 : 0;
    } else {
      if (work >= int64{arch::load(p.tile_count, 0)} * p.columns.by) return place;
      const ExpertTile tile = arch::load(p.tiles, p.columns.quotient(work));
      const int row_tiles = (tile.rows + C.tile_rows - 1) / C.tile_rows;
      const ExpertsTileAt at =
          experts_tile_at(work - tile.first_tile * p.columns.by, row_tiles, p.columns.by, experts_band(C.tile_rows));
      column = at.column;
      place.expert = tile.expert;
      place.first_row = tile.first_row + at.tile * C.tile_rows;
      place.rows = tile.rows - at.tile * C.tile_rows;
    }
    place.first_output = column * (p.paired != 0 ? kHalf : C.tile_columns);
    return place;
  }

  static int warp_row() { return arch::warp() / C.column_warps * (C.tile_rows / C.row_warps); }
  // Warps take 16 (or 8) outputs of gate in turn, and likewise of up. So a warp's first column uses bits of which
  // column_of() has none, and SwizzledTile::right() may add the latter by one XOR. That holds for powers of two alone.
  static_assert((C.column_warps & (C.column_warps - 1)) == 0);
  static int warp_column() { return arch::warp() % C.column_warps * (kWarpHalf == 8 ? 8 : 16); }
  /// From the warp's first output in the tile to that of its n8 tile n: the first half of them are of gate.
  static constexpr int column_of(int n) {
    return n / (kN / 2) * kHalf + n % (kN / 2) / 2 * (16 * C.column_warps) + n % (kN / 2) % 2 * 8;
  }

  // Stages are offsets, in elements.
  static constexpr int kStage = sizeof(Slice) / sizeof(T), kLastStage = (C.stages - 1) * kStage;
  static constexpr int kSteps = C.depth / 16;  // k16 steps of a slice
  static_assert(kSteps % 2 == 0, "two sets of fragments take turns");
  // Slots between a step's products, two apart, for what runs beside them: loads in the second and third quarter, so
  // that they begin after the products behind a barrier and none is waited for, then copies, all together. Copies that
  // are spread between loads cost an H200 up to a tenth of its speed (docs/moe-products.md).
  static constexpr int kSlots = kM * kN / 2, kLoads = kM + kN / 2, kSlotOfCopies = kSlots * 3 / 4;
  static constexpr int slot_of_load(int i) { return kSlots / 4 + i * (kSlots / 2) / kLoads; }

  /// Multiplies slice after slice while copies of the next ones are in flight; without kMultiplies copies them only.
  /// Slices behind the last one are zeros, so nothing depends on how many are left. Beside each step's products the
  /// next step's fragments are loaded; beside a slice's first step, a later slice's copies start.
  template <bool kTransposed, bool kMultiplies, class CopyA, class CopyW>
  static void stream(Sums& sums, Shared& s, int depth, CopyA& copy_a, CopyW& copy_w) {
    constexpr int kCopies = CopyA::kCopies + CopyW::kCopies;
    const auto copy = [&](int stage, int i) {
      if (i < CopyA::kCopies)
        copy_a.start(stage, i);
      else
        copy_w.start(stage, i - CopyA::kCopies);
    };
    const Operands<kTransposed> operands(s.ring[0]);
    Fragments fragments[2];
    arch::cp_async_wait<C.stages - 2>();
    arch::sync_block();  // the first slice is there for all
    if constexpr (kMultiplies) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) operands.load(fragments[0], 0, 0, i);
    }
    int stage = 0;
    for (int from = 0; from < depth; from += C.depth) {
      const int next = stage == kLastStage ? 0 : stage + kStage, free = stage == 0 ? kLastStage : stage - kStage;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        const bool last = step == kSteps - 1;
        if (last) {
          copy_a.advance();
          copy_w.advance();
          arch::cp_async_commit();
          arch::cp_async_wait<C.stages - 2>();
          arch::sync_block();  // the next slice is there for all, and all have this one in registers
        }
        if constexpr (kMultiplies) {
          const int step_after = (step + 1) % kSteps, from_stage = last ? next : stage;
          const Fragments& now = fragments[step % 2];
          const auto beside = [&](int slot) {
#pragma unroll
            for (int i = 0; i < kLoads; ++i)
              if (slot == slot_of_load(i)) operands.load(fragments[(step + 1) % 2], from_stage, step_after, i);
#pragma unroll
            for (int i = 0; i < kCopies; ++i)
              if (step == 0 && slot == kSlotOfCopies) copy(free, i);
          };
#pragma unroll
          for (int m = 0; m < kM; ++m)  // every second 16 rows go backwards: they begin with the weights just used
            arch::mma_m16n8k16<T>(sums[m], now.a[m], now.w, m % 2 != 0, [&](int i) { beside(m * (kN / 2) + i); });
        } else if (step == 0) {
#pragma unroll
          for (int i = 0; i < kCopies; ++i) copy(free, i);
        }
      }
      stage = next;
    }
  }

  template <bool kTransposed>
  static void multiply(const Params& p, const Place& place) {
    Shared& s = arch::shared<Shared>();
    auto copy_w = weights<kTransposed>(p, place, s.ring[0]);
#pragma unroll
    for (int slice = 0; slice < C.stages - 1; ++slice) start_slice(copy_w, slice);
    arch::wait_for_step_before();
    SliceCopies<T, TileA, kThreads, false> copy_a(s.ring[0].a.data, p.depth, C.depth, [&](int r, int d) {
      int64 row = 0;
      if (r < place.rows) {
        row = place.first_row + r;
        if (p.choices != nullptr) row = p.top_k.quotient(arch::load(p.choices, row));
      }
      return SliceSource<T>{static_cast<const T*>(p.a) + (row * p.a_row + d), r < place.rows};
    });
    // The first group has all slices of weights so far.
#pragma unroll
    for (int slice = 0; slice < C.stages - 1; ++slice) {
      start_slice(copy_a, slice);
      arch::cp_async_commit();
    }
    Sums sums = {};
    if (warp_row() < place.rows) {
      stream<kTransposed, true>(sums, s, p.depth, copy_a, copy_w);
      finish<kTransposed>(sums, p, place);
    } else {
      stream<kTransposed, false>(sums, s, p.depth, copy_a, copy_w);
    }
    arch::cp_async_wait<0>();  // no copy may land after the block has ended
  }
  template <class Copies>
  static void start_slice(Copies& copies, int slice) {
#pragma unroll
    for (int i = 0; i < Copies::kCopies; ++i) copies.start(slice * kStage, i);
    copies.advance();
  }

  /// A warp's operands of a step: of each 16 rows, and of each two n8 tiles.
  struct Fragments {
    uint32 a[kM][4], w[kN / 2][4];
  };

  /// Where a warp's fragments lie in a stage.
  template <bool kTransposed>
  class Operands {
   public:
    explicit Operands(Slice& s) {
      const int lane = arch::lane();
      const int a = TileA::offset(warp_row() + LdmatrixMap::down_row(lane), LdmatrixMap::down_col(lane));
#pragma unroll
      for (int step = 0; step < kSteps; ++step) a_[step] = arch::in_one_address(s.a.data, TileA::right(a, step * 16));
      if constexpr (kTransposed) {
        const int w = TileTransposed::offset(LdmatrixMap::down_row(lane), warp_column() + lane / 16 * kNext);
#pragma unroll
        for (int n = 0; n < kN; n += 2)
          w_[n / 2] = arch::in_one_address(s.transposed.data, TileTransposed::right(w, column_of(n)));
      } else {
        const int w = TileW::offset(warp_column() + lane % 8 + lane / 16 * kNext, LdmatrixMap::right_col(lane));
#pragma unroll
        for (int step = 0; step < kSteps; ++step) w_[step] = arch::in_one_address(s.w.data, TileW::right(w, step * 16));
      }
    }
    /// The i-th of a step's loads: what its first products take comes first.
    void load(Fragments& to, int stage, int step, int i) const {
      if (i == 0 || i > kN / 2)
        load_rows(to, stage, step, i == 0 ? 0 : i - kN / 2);
      else
        load_weights(to, stage, step, 2 * (i - 1));
    }

   private:
    void load_rows(Fragments& to, int stage, int step, int m) const {
      arch::ldmatrix_x4(to.a[m], a_[step].s_base, TileA::down(a_[step].s_offset + stage, m * 16));
    }
    /// Of n8 tiles n and n + 1.
    void load_weights(Fragments& to, int stage, int step, int n) const {
      const auto& from = w_[kTransposed ? n / 2 : step];
      if constexpr (kTransposed)
        arch::ldmatrix_x4_trans(to.w[n / 2], from.s_base, TileTransposed::down(from.s_offset + stage, step * 16));
      else
        arch::ldmatrix_x4(to.w[n / 2], from.s_base, TileW::down(from.s_offset + stage, column_of(n)));
    }
    // One a step, since the next step's place differs in bits; of transposed weights, one for each two n8 tiles.
    arch::SharedPlace<T> a_[kSteps], w_[kTransposed ? kN / 2 : kSteps];
  };

  /// The weights' copies. Interleaved gate and up lie side by side: rows are found by strides; of transposed weights,
  /// the tile's columns are as they lie, and the two of a feature are in one accumulator.
  template <bool kTransposed>
  static auto weights(const Params& p, const Place& place, Slice& s) {
    const T* const g_w = static_cast<const T*>(p.w) + place.expert * p.w_expert;
    const int left = p.outputs - place.first_output;
    const auto half_of = [&](int output) { return p.paired != 0 && output >= kHalf ? 1 : 0; };
    if constexpr (kTransposed) {
      return SliceCopies<T, TileTransposed, kThreads, true>(
          s.transposed.data, p.depth, C.depth * p.w_row, [&](int d, int c) {
            // Those past the last one are never stored: others stand for them.
            const int half = half_of(c), output = c - half * kHalf;
            const int64 column = p.alternates() ? 2 * place.first_output + (c < 2 * left ? c : 0)
                                                : place.first_output + (output < left ? output : 0) + half * p.w_up;
            return SliceSource<T>{g_w + (d * p.w_row + column), true};
          });
    } else {
      return SliceCopies<T, TileW, kThreads, false>(s.w.data, p.depth, C.depth, [&](int r, int d) {
        const int half = half_of(r), output = r - half * kHalf;
        const int64 row = (place.first_output + output) * p.w_row + half * p.w_up;
        return SliceSource<T>{g_w + (row + d), output < left};
      });
    }
  }
  /// The tile's output at a column, and whether it is up's.
  struct Output {
    int output, up;
  };
  static Output output_at(const Params& p, const Place& place, int column) {
    if (p.paired == 0) return {place.first_output + column, 0};
    const bool side_by_side = p.transposed != 0 && p.alternates();
    const int up = side_by_side ? column % 2 : column / kHalf;
    return {place.first_output + (side_by_side ? column / 2 : column - up * kHalf), up};
  }

  /// Multiplies by the rows' weights and adds the outputs' biases, in place: what follows is code of each activation.
  static void scale(Sums& sums, const Params& p, const Place& place) {
    float weights[kM][2];
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        weights[m][h] = weight_of(p, place, warp_row() + m * 16 + AccumulatorMap::row(arch::lane(), 2 * h));
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int column = warp_column() + column_of(n) + AccumulatorMap::col(arch::lane(), i);
        const float bias = bias_of(p, place, output_at(p, place, column));
#pragma unroll
        for (int m = 0; m < kM; ++m)
#pragma unroll
          for (int h = 0; h < 2; ++h)
            sums[m][n][2 * h + i] = arch::multiply_add(sums[m][n][2 * h + i], weights[m][h], bias);
      }
  }
  /// What the products of row r of the tile are multiplied by.
  static float weight_of(const Params& p, const Place& place, int r) {
    if (p.weights == nullptr || r >= place.rows) return 1.f;
    const int row = place.first_row + r;
    const bool is_choice = experts_finds_choices(C) && p.choices == nullptr;
    return arch::load(p.weights, is_choice ? row : arch::load(p.choices, row));
  }
  static float bias_of(const Params& p, const Place& place, Output at) {
    if (p.bias == nullptr || at.output >= p.outputs) return 0.f;
    const int64 from = place.expert * p.bias_expert + int64{at.output} * p.bias_step;
    return arch::widen(arch::load(static_cast<const T*>(p.bias), from + at.up * p.bias_up));
  }

  /// The epilogue: the results of the warp's accumulators to global memory.
  template <bool kTransposed>
  static void finish(Sums& sums, const Params& p, const Place& place) {
    if (p.bias != nullptr || p.weights != nullptr) scale(sums, p, place);
    with_activation(p, [&](auto activate) {
      if constexpr (!activate.kGated)
        store<kN, 2>(p, place, [&](int m, int n, int i) { return activate(sums[m][n][i]); });
      else if (kTransposed && p.alternates())
        store<kN, 1>(p, place, [&](int m, int n, int i) { return activate(sums[m][n][i], sums[m][n][i + 1]); });
      else
        store<kN / 2, 2>(p, place,
                         [&](int m, int n, int i) { return activate(sums[m][n][i], sums[m][n + kN / 2][i]); });
    });
  }

  /// Stores result(m, n, i), which a lane has kEach of (2 or 1) for each row of the first N of its n8 tiles. A lane
  /// gives its neighbour what it has of one of two tiles, for the same of the other, and stores twice as many at once:
  /// where such tiles lie side by side, four lanes write 32 bytes of a row (kEach 2), which is what L2 keeps together.
  template <int N, int kEach, class Result>
  static void store(const Params& p, const Place& place, Result result) {
    constexpr bool kSwap = N > 1;
    const int lane = arch::lane(), row = warp_row() + AccumulatorMap::row(lane, 0);
    const bool odd = kSwap && lane % 2 != 0;
    const int of_tile = kSwap ? lane % 4 / 2 * (2 * kEach) : lane % 4 * kEach;
    const int column = (warp_column() + (odd ? column_of(1) : 0)) * kEach / 2 + of_tile;
    const int left = p.outputs - place.first_output - column;
    T* g_out = static_cast<T*>(p.out) + ((place.first_row + row) * int64{p.outputs} + place.first_output + column);
    const auto own = [&](int m, int n, int h) {
      return arch::pack<T>(result(m, n, 2 * h), kEach == 2 ? result(m, n, 2 * h + 1) : 0.f);
    };
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int n = 0; n < N; n += 2) {
          const int to = column_of(n) * kEach / 2;
          const bool inside = row + m * 16 + h * 8 < place.rows && to < left;
          if constexpr (kSwap) {
            const uint32 first = own(m, n, h), second = own(m, n + 1, h);
            const uint32 given = arch::shuffle_xor(odd ? first : second, 1);
            const uint32 low = odd ? given : first, high = odd ? second : given;
            if constexpr (kEach == 2)
              arch::store_if(inside, g_out, to, low | uint64{high} << 32);
            else
              arch::store_if(inside, g_out, to, low | high << 16);
          } else {
            arch::store_if(inside, g_out, to, own(m, n, h));
          }
        }
        g_out += 8 * int64{p.outputs};
      }
  }
};

}  // namespace flashfit
