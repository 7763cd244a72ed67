// Shuffles, votes and ldmatrix, for all lanes at once.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "proof/emu/collective.hpp"
#include "proof/emu/machine.hpp"
#include "proof/emu/matrix_rows.hpp"

namespace flashfit::emu {
namespace {

void shuffle_xor(void* const* lanes) {
  Machine& machine = Machine::current();
  for (int l = 0; l < kLanes; ++l) {
    auto& self = of<ExchangeOperands>(lanes, l);
    if (self.with < 0 || self.with >= kLanes) {
      const Site site = machine.collective_site();
      machine.stop(fmt::format("shuffle_xor by {}, asked for by lane {}: 0 to 31 are accepted", self.with, l), &site);
    }
    self.result = of<ExchangeOperands>(lanes, l ^ self.with).value;
  }
}

void shuffle(void* const* lanes) {
  Machine& machine = Machine::current();
  for (int l = 0; l < kLanes; ++l) {
    auto& self = of<ExchangeOperands>(lanes, l);
    if (self.with < 0 || self.with >= kLanes) {
      const Site site = machine.collective_site();
      machine.stop(fmt::format("shuffle from lane {}, asked for by lane {}: 0 to 31 are accepted", self.with, l),
                   &site);
    }
    self.result = of<ExchangeOperands>(lanes, self.with).value;
  }
}

template <class T, class Op>
void reduce(void* const* lanes) {
  T all = static_cast<T>(of<ExchangeOperands>(lanes, 0).value);
  for (int l = 1; l < kLanes; ++l) all = Op{}(all, static_cast<T>(of<ExchangeOperands>(lanes, l).value));
  for (int l = 0; l < kLanes; ++l) of<ExchangeOperands>(lanes, l).result = static_cast<uint32>(all);
}
struct Least {
  template <class T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
struct Most {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};

void ballot(void* const* lanes) {
  uint32 bits = 0;
  for (int l = 0; l < kLanes; ++l) bits |= uint32{of<BallotOperands>(lanes, l).value} << l;
  for (int l = 0; l < kLanes; ++l) of<BallotOperands>(lanes, l).result = bits;
}

/// Register k of lane l gets row l / 4, columns 2 (l % 4) and the next of matrix k, whose rows the lanes 8 k .. 8 k + 7
/// point to (PTX ISA, "ldmatrix").
template <bool Trans>
void ldmatrix_x4(void* const* lanes) {
  const int count = of<LdmatrixOperands>(lanes, 0).count;
  for (int i = 0; i < count; ++i) {
    MatrixRows rows;
    for (int l = 0; l < kLanes; ++l) rows[l] = of<LdmatrixOperands>(lanes, l).rows[i];
    check_rows(rows, Trans ? kLdmatrixX4Trans.name : kLdmatrixX4.name);
    for (int k = 0; k < 4; ++k) {
      unsigned short matrix[8][8];
      for (int row = 0; row < 8; ++row) std::memcpy(matrix[row], reinterpret_cast<const void*>(rows[k * 8 + row]), 16);
      if constexpr (Trans)
        for (int r = 0; r < 8; ++r)
          for (int c = 0; c < r; ++c) std::swap(matrix[r][c], matrix[c][r]);
      for (int l = 0; l < kLanes; ++l)
        std::memcpy(&of<LdmatrixOperands>(lanes, l).registers[i * 4 + k], &matrix[l / 4][l % 4 * 2], 4);
    }
  }
  Machine::current().count(&Stats::ldmatrix, static_cast<std::uint64_t>(count) - 1);  // one is the meeting's
}

void warp(void* const*) {}

}  // namespace

constexpr Collective kWarp{"warp", warp, &Stats::shuffles};
constexpr Collective kShuffleXor{"shuffle_xor", shuffle_xor, &Stats::shuffles};
constexpr Collective kShuffle{"shuffle", shuffle, &Stats::shuffles};
constexpr Collective kWarpSum{"warp_sum", reduce<uint32, std::plus<>>, &Stats::shuffles};
constexpr Collective kWarpMin{"warp_min", reduce<uint32, Least>, &Stats::shuffles};
constexpr Collective kWarpMinInt{"warp_min", reduce<int, Least>, &Stats::shuffles};
constexpr Collective kWarpMax{"warp_max", reduce<uint32, Most>, &Stats::shuffles};
constexpr Collective kWarpMaxInt{"warp_max", reduce<int, Most>, &Stats::shuffles};
constexpr Collective kBallot{"ballot", ballot, &Stats::votes};
constexpr Collective kLdmatrixX4{"ldmatrix_x4", ldmatrix_x4<false>, &Stats::ldmatrix};
constexpr Collective kLdmatrixX4Trans{"ldmatrix_x4_trans", ldmatrix_x4<true>, &Stats::ldmatrix};

}  // namespace flashfit::emu
