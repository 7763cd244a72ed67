#pragma once
// From products of q and k to scores, of the rows of a warp: what score.cuh does, where scores wait in registers.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/warp_tile.cuh"
#include "kernels/attention/forward/wgmma/alibi.cuh"
#include "kernels/attention/forward/wgmma/params.hpp"
#include "kernels/attention/forward/wgmma/softcap.cuh"
#include "kernels/attention/schedule.cuh"
#include "kernels/layout/fragment.hpp"

namespace flashfit {

/// Plain: exp2's argument has the scale, and nothing is left to do. `hide`, which is called afterwards in any case,
/// makes what a row does not see -inf.
template <ForwardConfig C, ForwardKind Kind = C.kind>
class WgmmaScores {
 public:
  static constexpr bool kInLog2 = false;
  WgmmaScores(const WgmmaForwardParams&, const Work&) {}
  template <class Products, class Hide>
  void make(Products&, const WgmmaForwardParams&, int, Hide) const {}
};

/// Softcap.
template <ForwardConfig C>
class WgmmaScores<C, ForwardKind::kGeneral> {
  static constexpr int kShareReciprocal = C.head_dim_v <= 128 ? 4 : 2;  // more take registers that there are not

 public:
  static constexpr bool kInLog2 = false;
  WgmmaScores(const WgmmaForwardParams&, const Work&) {}
  template <class Products, class Hide>
  void make(Products& c, const WgmmaForwardParams& p, int, Hide hide) const {
    if (p.softcap_x > 0) {
      // Scores share reciprocals: what lies behind a sequence's last key would move the last bits of those that count.
      hide();
      cap_products<kShareReciprocal>(c, p.softcap_x);
    }
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
  template <class Products, class Hide>
  void make(Products& c, const WgmmaForwardParams& p, int first_key, Hide) const {
    add_alibi(c, p.scale_log2, slope_, diagonal_ - static_cast<float>(first_key));
  }

 private:
  float slope_;     // in units of log2
  float diagonal_;  // the last key that the lane's first row would see under a causal mask, from the lane's first key
};

}  // namespace flashfit
