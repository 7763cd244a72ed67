#pragma once
// From products of q and k to scores, of the rows of a warp: what score.cuh does, where scores wait in registers.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/warp_tile.cuh"
#include "kernels/attention/forward/wgmma/alibi.cuh"
#include "kernels/attention/forward/wgmma/bias.cuh"
#include "kernels/attention/forward/wgmma/params.hpp"
#include "kernels/attention/forward/wgmma/softcap.cuh"
#include "kernels/attention/forward/wgmma/works.cuh"
#include "kernels/layout/fragment.hpp"

namespace flashfit {

/// Plain: exp2's argument has the scale, and nothing is left to do. `hide` makes what a row does not see -inf; it is
/// called afterwards, too. Where the caller lets it (kWeighs) and each row sees the tile whole, make() may turn the
/// scores into weights, with their sums: then true, and nobody calls `hide`.
template <ForwardConfig C, ForwardKind Kind = C.kind>
class WgmmaScores {
 public:
  static constexpr bool kInLog2 = false;
  WgmmaScores(const WgmmaForwardParams&, const Work&) {}
  template <bool kWeighs, class Products, class Hide>
  bool make(Products&, float (&)[1][2], const RowState (&)[1][2], const WgmmaForwardParams&, const SharedJob&, int,
            bool, Hide) const {
    return false;
  }
};

/// Softcap.
template <ForwardConfig C>
class WgmmaScores<C, ForwardKind::kGeneral> {
  static constexpr int kShareReciprocal = C.head_dim_v <= 128 ? 4 : 2;  // more take registers that there are not

 public:
  static constexpr bool kInLog2 = false;
  WgmmaScores(const WgmmaForwardParams&, const Work&) {}
  template <bool kWeighs, class Products, class Hide>
  bool make(Products& c, float (&sums)[1][2], const RowState (&rows)[1][2], const WgmmaForwardParams& p,
            const SharedJob&, int, bool is_whole, Hide hide) const {
    if (p.softcap_x > 0) {
      // Scores share reciprocals: what lies behind a sequence's last key would move the last bits of those that count.
      hide();
      scale_products(c, p.softcap_x);
      if constexpr (kWeighs) {
        if (is_whole && !any_is_large(c)) {
          // 0, as tensor maps need it. Three warpgroups have no register for it, and one fills what another leaves
          // idle.
          const uint32 zero = C.warps == 8 ? static_cast<uint32>(p.forward.head_dim) & 7 : 0;
          weigh_small(c, sums, rows, p.scale_log2, zero);
          return true;
        }
      }
      tanh_of_rows<kShareReciprocal>(c);
    }
    return false;
  }
};

/// ALiBi.
template <ForwardConfig C>
class WgmmaScores<C, ForwardKind::kAlibi> {
 public:
  static constexpr bool kInLog2 = true;
  WgmmaScores(const WgmmaForwardParams& p, const Work& work) : slope_(0), diagonal_(0) {
    const ForwardParams& f = p.forward;
    if (f.alibi_slopes == nullptr) return;
    slope_ = arch::load(f.alibi_slopes, work.sequence * f.alibi_batch + work.head) * kLog2E;
    const int row = work.first_row + WarpTile<C>::first_row() + AccumulatorMap::row(arch::lane(), 0);
    diagonal_ = static_cast<float>(row + work.keys - work.queries - AccumulatorMap::col(arch::lane(), 0));
  }

  /// Scores of the warp's rows with the keys from first_key on, in units of log2, from products, in their place.
  template <bool kWeighs, class Products, class Hide>
  bool make(Products& c, float (&)[1][2], const RowState (&)[1][2], const WgmmaForwardParams& p, const SharedJob&,
            int first_key, bool, Hide) const {
    add_alibi(c, p.scale_log2, slope_, diagonal_ - static_cast<float>(first_key));
    return false;
  }

 private:
  float slope_;     // in units of log2
  float diagonal_;  // the last key that the lane's first row would see under a causal mask, from the lane's first key
};

/// A bias.
template <ForwardConfig C>
class WgmmaScores<C, ForwardKind::kBias> {
 public:
  static constexpr bool kInLog2 = true;
  WgmmaScores(const WgmmaForwardParams&, const Work&) {}
  template <bool kWeighs, int N8, class Hide>
  bool make(float (&c)[1][N8][4], float (&)[1][2], const RowState (&)[1][2], const WgmmaForwardParams& p,
            const SharedJob& job, int first_key, bool, Hide) const {
    const Work work = job.get().work;
    const int first_row = work.first_row + WarpTile<C>::first_row();
    TileBias<Element<C.dtype>, N8>(p.forward, work, first_row, first_key).add(c, p.scale_log2);
    return false;
  }
};

}  // namespace flashfit
