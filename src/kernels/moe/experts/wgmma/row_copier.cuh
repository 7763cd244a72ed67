#pragma once
// The warp that copies rows of x into the order of experts, ahead of the tiles that multiply them (docs/moe-kernels.md,
// "Rows copied ahead"), by bulk copies through a small ring of shared memory. It begins when the block's other warps
// have stopped to help (row_helpers.cuh), and waits for no other block.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/wgmma/params.hpp"
#include "kernels/moe/experts/wgmma/row_units.cuh"
#include "kernels/moe/experts/wgmma/shared.cuh"

namespace flashfit {

template <ExpertsProductConfig C>
class ExpertsRowCopier {
  using Params = WgmmaExpertsParams;
  using Shared = WgmmaExpertsShared<C>;
  using T = Element<C.dtype>;

 public:
  /// By all lanes of one warp.
  static void run(const Params& p, Shared& s) { ExpertsRowCopier(p, s).run(); }

 private:
  static constexpr int kPiece = Shared::kPiece, kPieces = Shared::kPieces;
  /// So many loads of pieces are in flight while the other pieces are stored.
  static constexpr int kAhead = (kPieces + 1) / 2;

  ExpertsRowCopier(const Params& p, Shared& s)
      : params_(p),
        p_(p.product),
        copies_(p.copies),
        s_(s),
        loads_(0),
        stores_(0),
        phase_(0),
        in_row_((p.product.depth + kPiece - 1) / kPiece) {}

  void run() {
    arch::mbarrier_wait(s_.helped, 0);
    const ExpertsRowUnits units(params_);
    for (int first = take(units);;) {
      const ExpertsRowUnit unit = units.from(arch::shuffle(first, 0));
      if (unit.rows == 0) return;
      first = take(units);  // which is needed some time later
      copy(unit);
    }
  }

  int take(const ExpertsRowUnits& units) const { return arch::lane() == 0 ? units.take() : 0; }

  void copy(const ExpertsRowUnit& unit) {
    const int lane = arch::lane(), choice = lane < unit.rows ? arch::load(p_.choices, unit.first + lane) : 0;
    arch::store_shared(s_.tokens, lane, p_.top_k.quotient(choice));
    arch::sync_warp();
    if (lane == 0) {
      copy_rows(unit.first, unit.rows);
      tell_of_rows(copies_, unit);
    }
    arch::sync_warp();
  }

  void copy_rows(int first, int rows) {
    const int pieces = rows * in_row_;
    int64 to = int64{first} * p_.depth;  // rows lie one after the other there
    int row = 0, from = 0, stored = 0;   // elements of a row
    for (int i = 0; i < pieces + kAhead; ++i) {
      if (i < pieces) {
        load(arch::load_shared(s_.tokens, row), from);
        from += kPiece;
        if (from >= p_.depth) from = 0, ++row;
      }
      if (i < kAhead) continue;
      const int size = size_at(stored);
      store(to, size);
      to += size;
      stored = stored + kPiece < p_.depth ? stored + kPiece : 0;
    }
    arch::bulk_wait<0>();
  }

  /// Elements of the piece that begins at this one of a row.
  int size_at(int at) const { return p_.depth - at < kPiece ? p_.depth - at : kPiece; }

  void load(int token, int at) {
    // The last store from this place has been read once at most so many later stores have not.
    arch::bulk_wait_read<kPieces - 1 - kAhead>();
    const int place = loads_, bytes = size_at(at) * int(sizeof(T));
    arch::mbarrier_arrive_expect_tx(s_.copied[place], bytes);
    arch::copy_bulk_to_shared(s_.pieces[place], 0, static_cast<const T*>(copies_.x), int64{token} * copies_.x_row + at,
                              bytes, s_.copied[place]);
    loads_ = place + 1 < kPieces ? place + 1 : 0;
  }
  void store(int64 to, int size) {
    const int place = stores_;
    arch::mbarrier_wait(s_.copied[place], phase_);
    arch::copy_bulk_to_global(static_cast<T*>(copies_.gathered), to, s_.pieces[place], 0, size * int(sizeof(T)));
    arch::bulk_commit();
    stores_ = place + 1 < kPieces ? place + 1 : 0;
    if (stores_ == 0) phase_ ^= 1;
  }

  const Params& params_;
  const ExpertsProductParams& p_;
  const ExpertsRowCopies& copies_;
  Shared& s_;
  int loads_, stores_, phase_;  // places in the ring of pieces, and the parity of the latter
  const int in_row_;            // pieces
};

}  // namespace flashfit
