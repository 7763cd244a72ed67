#pragma once
// The second launch of a call whose keys were split: rows of the output from their parts (docs/kernels.md, "Splits
// along keys"). A warp has 128 columns of a row, four a lane; of a row of many parts it has a share of the parts, and
// the warps of the row add their sums up through shared memory. A lane issues all its loads at once, because a decode
// is bound by memory's latency, not by its bandwidth.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/steps.hpp"
#include "kernels/attention/forward/combine/params.hpp"
#include "kernels/attention/forward/row_end.cuh"
#include "kernels/attention/schedule.cuh"
#include "kernels/attention/softmax.cuh"

namespace flashfit {

template <CombineConfig C>
struct CombineKernel {
  using Params = CombineParams;
  using T = Element<C.dtype>;
  static_assert(C.dtype != DType::kF32 && arch::kHas<T>, "bf16 needs compute capability 8.0");
  struct Shared {
    float o[kCombineWarps][kCombineColumns];
  };
  static constexpr int kThreads = kCombineWarps * 32, kMinBlocks = 2;

  static void run(const Params& p) {
    const int warp = arch::warp(), lane = arch::lane();
    const int share = warp & ((1 << p.warps_log2) - 1);  // of the row's parts: those with this remainder
    const int row = arch::block().x * (kCombineWarps >> p.warps_log2) + (warp >> p.warps_log2);
    const int query = p.heads.quotient(row), head = row - query * p.heads.by;
    const int column = arch::block().y * kCombineColumns + lane * kEach;
    // Rows after the last sequence belong to none: no part wrote them.
    const bool inside =
        row < p.rows && (p.cu_seqlens_q == nullptr || query < bounded_offset(p.cu_seqlens_q, p.batch, p.queries.by));
    const float sink = inside && p.sinks != nullptr ? arch::load(p.sinks, head) * kLog2E : kMinusInfinity;

    arch::wait_for_step_before();  // from here on the parts may be read
    Bytes16 parts[kPartsOfAWarp];
    const int given = inside && column < p.columns ? p.parts : 0;
    const int64 first = (int64{share} * p.rows + row) * p.columns + column;
    const int64 step = int64{p.rows << p.warps_log2} * p.columns;
#pragma unroll
    for (int i = 0; i < kPartsOfAWarp; ++i) {
      parts[i] = {};
      if (share + (i << p.warps_log2) < given) parts[i] = arch::load<Bytes16>(p.partial_o, first + i * step);
    }
    float lse[kLsesOfALane];  // of parts lane, lane + 32
#pragma unroll
    for (int i = 0; i < kLsesOfALane; ++i) {
      const int part = lane + 32 * i;
      lse[i] = inside && part < p.parts ? arch::load(p.partial_lse, int64{part} * p.rows + row) : kMinusInfinity;
    }

    float top = kNoBase;
#pragma unroll
    for (const float of_part : lse) top = arch::max(top, of_part);
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) top = arch::max(top, arch::shuffle_xor(top, mask));
    float weights[kLsesOfALane], sum = 0;
#pragma unroll
    for (int i = 0; i < kLsesOfALane; ++i) sum += weights[i] = arch::exp2(lse[i] - top);
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) sum += arch::shuffle_xor(sum, mask);

    float o[kEach] = {};
#pragma unroll
    for (int i = 0; i < kPartsOfAWarp; ++i) {
      const int part = share + (i << p.warps_log2);
      const float weight = arch::shuffle(part < 32 ? weights[0] : weights[1], part % 32);  // 0 past the last part
#pragma unroll
      for (int c = 0; c < kEach; ++c)
        o[c] = arch::multiply_add(weight, __builtin_bit_cast(float, parts[i].words[c]), o[c]);
    }
    if (p.warps_log2 > 0 && !joins(o, warp, share, p)) return;
    if (!inside) return;
    store(p, o, end_of_row(top, sum, sink), query, head, column);
  }

 private:
  static constexpr int kEach = 4;  // columns of a lane: 16 bytes of a part
  static_assert(kCombineColumns == 32 * kEach);
  static constexpr int kLsesOfALane = 2;
  static_assert(kMostParts <= 32 * kLsesOfALane);

  /// Adds up what the warps of a row have, in their order, in the first of them. Whether this is the first.
  static bool joins(float (&o)[kEach], int warp, int share, const Params& p) {
    Shared& s = arch::shared<Shared>();
    const int at = arch::lane() * kEach;
    Bytes16 mine;
#pragma unroll
    for (int c = 0; c < kEach; ++c) mine.words[c] = __builtin_bit_cast(uint32, o[c]);
    arch::store_shared(s.o[warp], at, mine);
    arch::sync_block();
    if (share != 0) return false;
#pragma unroll
    for (int other = 1; other < kCombineWarps; ++other) {
      if (other >> p.warps_log2 != 0) break;
      const auto theirs = arch::load_shared<Bytes16>(s.o[warp + other], at);
#pragma unroll
      for (int c = 0; c < kEach; ++c) o[c] += __builtin_bit_cast(float, theirs.words[c]);
    }
    return true;
  }

  static void store(const Params& p, const float (&o)[kEach], const RowEnd& end, int query, int head, int column) {
    const int sequence = p.cu_seqlens_q == nullptr ? p.queries.quotient(query) : 0;
    const int row = query - sequence * p.queries.by;
    const int64 o_at = sequence * p.o_batch + row * p.o_row + head * p.o_head + column;
#pragma unroll
    for (int c = 0; c < kEach; ++c)
      arch::store_if(column + c < p.head_dim_v, static_cast<T*>(p.o), o_at + c,
                     T{static_cast<unsigned short>(arch::pack<T>(o[c] * end.factor, 0.f))});
    arch::store_if(column == 0 && p.lse != nullptr, p.lse, sequence * p.lse_batch + head * p.lse_head + row,
                   end.lse_log2 * kLn2);
  }
};

}  // namespace flashfit
