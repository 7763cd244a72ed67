// mma.m16n8k16 for a whole warp: from fragments (PTX ISA, "Matrix Fragments for mma.m16n8k16") to matrices and back.
#include <cstring>

#include "emu/collective.hpp"
#include "emu/product.hpp"

namespace flashfit::emu {
namespace {

constexpr int kM = 16, kN = 8, kK = 16;

template <DType T>
void multiply(void* const* lanes) {
  unsigned short a[kM * kK], b[kK * kN];
  float d[kM * kN];
  for (int l = 0; l < kLanes; ++l) {
    const auto& lane = *static_cast<const MmaOperands*>(lanes[l]);
    const int row = l / 4, col = l % 4 * 2;
    for (int i = 0; i < 4; ++i) std::memcpy(&a[(row + i % 2 * 8) * kK + col + i / 2 * 8], &lane.a[i], 4);
    for (int i = 0; i < 2; ++i) {
      b[(col + i * 8) * kN + row] = static_cast<unsigned short>(lane.b[i]);
      b[(col + i * 8 + 1) * kN + row] = static_cast<unsigned short>(lane.b[i] >> 16);
      std::memcpy(&d[(row + i * 8) * kN + col], lane.d + 2 * i, 8);
    }
  }
  accumulate(T, {a, b, d, kM, kN}, static_cast<const MmaOperands*>(lanes[0])->core);
  for (int l = 0; l < kLanes; ++l)
    for (int i = 0; i < 2; ++i)
      std::memcpy(static_cast<MmaOperands*>(lanes[l])->d + 2 * i, &d[(l / 4 + i * 8) * kN + l % 4 * 2], 8);
}

}  // namespace

constexpr Collective kMmaM16N8K16F16{"mma_m16n8k16", multiply<DType::kF16>, &Stats::mma};
constexpr Collective kMmaM16N8K16BF16{"mma_m16n8k16", multiply<DType::kBF16>, &Stats::mma};

}  // namespace flashfit::emu
