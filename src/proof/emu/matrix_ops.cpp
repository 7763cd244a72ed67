#include "proof/emu/matrix_ops.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "proof/emu/machine.hpp"

namespace flashfit::emu {
namespace {

/// The inverse of ldmatrix (PTX ISA, "stmatrix"): register k of lane l is row l / 4, columns 2 (l % 4) and the next, of
/// matrix k, whose rows go where the lanes 8 k .. 8 k + 7 point to.
template <bool Trans>
void stmatrix_x4(void* const* lanes) {
  Machine& machine = Machine::current();
  std::int32_t offsets[kLanes];
  for (int l = 0; l < kLanes; ++l)
    offsets[l] =
        static_cast<std::int32_t>(static_cast<const std::byte*>(of<StmatrixOperands>(lanes, l).row) - machine.shared());
  machine.count_bank_conflicts(Trans ? "stmatrix_x4_trans" : "stmatrix_x4", offsets, 16,
                               &Stats::stmatrix_bank_conflicts);
  for (int k = 0; k < 4; ++k) {
    unsigned short matrix[8][8];
    for (int l = 0; l < kLanes; ++l) {
      unsigned short pair[2];
      std::memcpy(pair, &of<StmatrixOperands>(lanes, l).registers[k], sizeof pair);
      for (int i = 0; i < 2; ++i) {
        const int row = l / 4, col = l % 4 * 2 + i;
        matrix[Trans ? col : row][Trans ? row : col] = pair[i];
      }
    }
    for (int row = 0; row < 8; ++row) std::memcpy(of<StmatrixOperands>(lanes, k * 8 + row).row, matrix[row], 16);
  }
}

/// The unit of the warp that executes, whose accesses are watched from here on.
Warpgroups::Unit& unit(Machine& machine, const Site& site) {
  machine.watch();
  Warpgroups::Unit* const found = machine.warpgroups().of(machine.warp(), *machine.order());
  if (found == nullptr) machine.stop("wgmma needs a warpgroup of four warps, from a multiple of four on", &site);
  return *found;
}

void end_if(Machine& machine, const std::string& wrong, const Site& site) {
  if (!wrong.empty()) machine.stop(wrong, &site);
}

template <class Call, class Member>
auto members(void* const* lanes, Member Call::* member) {
  std::array<const Member*, kLanes> list;
  for (int l = 0; l < kLanes; ++l) list[static_cast<std::size_t>(l)] = &(of<Call>(lanes, l).*member);
  return list;
}

void wgmma_fence(void* const* lanes) {
  Machine& machine = Machine::current();
  const auto& call = of<WgmmaRegistersCall>(lanes, 0);
  Warpgroup& group = unit(machine, call.site).warpgroup;
  const auto registers = members(lanes, &WgmmaRegistersCall::registers);
  end_if(machine, group.fence(machine.warp() % Warpgroup::kWarps, registers.data()), call.site);
}

/// Until the product ends, nobody may write what it reads.
void reads(Machine& machine, const MatrixOperand& operand, int first, int count, Moment done, const Site& site) {
  const SharedWindow& shared = machine.warpgroups().shared();
  operand.for_each_row(first, count, [&](std::uint32_t address, int, int) {
    machine.engine_access(reinterpret_cast<std::uintptr_t>(shared.at(address)), MatrixOperand::kRowBytes, Access::kRead,
                          "wgmma", done, site);
  });
}

void wgmma(void* const* lanes) {
  Machine& machine = Machine::current();
  const auto& [own, site] = of<WgmmaCall>(lanes, 0);
  auto& [group, agent, waiting] = unit(machine, site);
  const int warp = machine.warp() % Warpgroup::kWarps;
  const auto operands = members(lanes, &WgmmaCall::operands);
  end_if(machine, group.issue(warp, operands.data(), site), site);
  for (const int thread : std::exchange(waiting, {})) machine.wake(thread);
  const Moment done{agent, static_cast<std::uint32_t>(group.issued(warp))};
  if (!own.shape.a_in_registers) reads(machine, {own.a_descriptor, own.shape.a_major, 64}, warp * 16, 16, done, site);
  reads(machine, {own.b_descriptor, own.shape.b_major, own.shape.n}, 0, own.shape.n, done, site);
}

void wgmma_commit(void* const* lanes) {
  Machine& machine = Machine::current();
  unit(machine, of<Site>(lanes, 0)).warpgroup.commit(machine.warp() % Warpgroup::kWarps);
}

void wgmma_wait(void* const* lanes) {
  Machine& machine = Machine::current();
  const auto& call = of<WgmmaRegistersCall>(lanes, 0);
  auto& [group, agent, waiting] = unit(machine, call.site);
  const int warp = machine.warp() % Warpgroup::kWarps;
  const auto registers = members(lanes, &WgmmaRegistersCall::registers);
  end_if(machine, group.wait(warp, call.pending, registers.data(), machine.tensor_core()), call.site);
  const Moment done{agent, static_cast<std::uint32_t>(group.retired(warp))};
  for (int l = 0; l < kLanes; ++l) machine.order()->learn(machine.thread() - machine.lane() + l, done);
}

}  // namespace

void await_warpgroup(int pending, Site site) {
  Machine& machine = Machine::current();
  auto& [group, agent, waiting] = unit(machine, site);
  const int warp = machine.warp() % Warpgroup::kWarps;
  while (group.missing(warp, pending) != 0) {
    waiting.push_back(machine.thread());
    machine.suspend(
        {[](const void*) -> std::string { return "wgmma_wait, for products that not all four warps issued"; }, &group,
         site});
  }
}

constexpr Collective kStmatrixX4{"stmatrix_x4", stmatrix_x4<false>, &Stats::stmatrix};
constexpr Collective kStmatrixX4Trans{"stmatrix_x4_trans", stmatrix_x4<true>, &Stats::stmatrix};
constexpr Collective kWgmma{"wgmma", wgmma, &Stats::wgmma};
constexpr Collective kWgmmaFence{"wgmma_fence", wgmma_fence, &Stats::wgmma_fences};
constexpr Collective kWgmmaCommit{"wgmma_commit", wgmma_commit, &Stats::wgmma_commits};
constexpr Collective kWgmmaWait{"wgmma_wait", wgmma_wait, &Stats::wgmma_waits};

}  // namespace flashfit::emu
