#pragma once
// stmatrix and the wgmma family as collectives of a warp.
#include "proof/emu/collective.hpp"
#include "proof/emu/wgmma.hpp"

namespace flashfit::emu {

struct StmatrixOperands {
  void* row;  ///< 16 bytes of shared memory, checked
  const uint32* registers;
};
struct WgmmaCall {
  WgmmaOperands operands;
  Site site;
};
/// A fence, or a wait that leaves at most `pending` groups.
struct WgmmaRegistersCall {
  WgmmaRegisters registers;
  int pending;
  Site site;
};

/// Keeps the running thread until all warps of its warpgroup have issued what its wait for all but `pending` groups
/// orders. Before the wait's own meeting.
void await_warpgroup(int pending, Site site);

/// A commit takes a Site.
extern const Collective kStmatrixX4, kStmatrixX4Trans, kWgmma, kWgmmaFence, kWgmmaCommit, kWgmmaWait;

}  // namespace flashfit::emu
