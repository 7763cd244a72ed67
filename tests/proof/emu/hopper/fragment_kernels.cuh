#pragma once
// Kernels that ask an instruction where it keeps what: each register or address is given a value of its own, and what
// comes out tells the map (kernels/layout/fragment.hpp). Written against arch alone: they run under the emulator and on
// a GPU. One block each.
#include "kernels/arch/arch.hpp"
#include "kernels/layout/fragment.hpp"
#include "kernels/layout/panel_tile.hpp"

namespace flashfit::testing {

/// 16 x 16 elements, element (row, col) is row * 16 + col.
struct Numbered {
  alignas(128) f16 data[256];
};
inline void number(Numbered& s) {
  for (int i = arch::lane(); i < 256; i += 32) arch::store_shared(s.data, i, f16{static_cast<unsigned short>(i)});
  arch::sync_block();
}

/// out [2][32][4]: registers that ldmatrix_x4 and its transposing form fill by the down order.
struct LdmatrixProbe {
  struct Params {
    uint32* out;
  };
  using Shared = Numbered;
  static constexpr int kThreads = 32, kMinBlocks = 1;

  static void run(const Params& p) {
    auto& s = arch::shared<Shared>();
    number(s);
    const int lane = arch::lane(), row = LdmatrixMap::down_row(lane) * 16 + LdmatrixMap::down_col(lane);
    uint32 r[4], t[4];
    arch::ldmatrix_x4(r, s.data, row);
    arch::ldmatrix_x4_trans(t, s.data, row);
    for (int i = 0; i < 4; ++i) {
      arch::store_if(true, p.out, lane * 4 + i, r[i]);
      arch::store_if(true, p.out, 128 + lane * 4 + i, t[i]);
    }
  }
};

/// out [2][256]: where stmatrix_x4 and its transposing form put the halves 8 lane + 2 register + half.
struct StmatrixProbe {
  struct Params {
    f16* out;
  };
  struct Shared {
    Numbered plain, transposed;
  };
  static constexpr int kThreads = 32, kMinBlocks = 1;

  static void run(const Params& p) {
    auto& s = arch::shared<Shared>();
    const int lane = arch::lane(), row = LdmatrixMap::down_row(lane) * 16 + LdmatrixMap::down_col(lane);
    uint32 r[4];
    for (int i = 0; i < 4; ++i) r[i] = uint32(8 * lane + 2 * i) | uint32(8 * lane + 2 * i + 1) << 16;
    arch::stmatrix_x4(s.plain.data, row, r);
    arch::stmatrix_x4_trans(s.transposed.data, row, r);
    arch::sync_block();
    for (int i = lane; i < 256; i += 32) {
      arch::store_if(true, p.out, i, arch::load_shared(s.plain.data, i));
      arch::store_if(true, p.out, 256 + i, arch::load_shared(s.transposed.data, i));
    }
  }
};

/// out [3][32][4] of mma_m16n8k16: d of A = codes and B = the identity's left and right half, which tell A's map once
/// D's is known; and of A[m][k] = m and 1 for k = 0 and 1, B[k][n] = 1 and 16 n, which is m + 16 n and tells D's map.
struct MmaProbe {
  struct Params {
    float* out;
  };
  struct Shared {
    int none;
  };
  static constexpr int kThreads = 32, kMinBlocks = 1;

  /// Column n of B in this lane's registers: rows k(i, h) hold value(k).
  template <class Value>
  static void multiply(float* g_out, const uint32 (&a)[4], Value value) {
    const int lane = arch::lane();
    uint32 b[2];
    for (int i = 0; i < 2; ++i) {
      const int k = lane % 4 * 2 + i * 8;
      b[i] = arch::pack<f16>(value(k, lane / 4), value(k + 1, lane / 4));
    }
    float d[4] = {};
    arch::mma_m16n8k16<f16>(d, a, b[0], b[1]);
    for (int i = 0; i < 4; ++i) arch::store_if(true, g_out, lane * 4 + i, d[i]);
  }

  static void run(const Params& p) {
    const int lane = arch::lane(), row = lane / 4;
    uint32 codes[4], rows[4];
    for (int i = 0; i < 4; ++i) {
      codes[i] = arch::pack<f16>(float(8 * lane + 2 * i), float(8 * lane + 2 * i + 1));
      const float m = float(row + i % 2 * 8);
      rows[i] = i < 2 && lane % 4 == 0 ? arch::pack<f16>(m, 1) : 0;
    }
    multiply(p.out, codes, [](int k, int n) { return k == n ? 1.f : 0.f; });
    multiply(p.out + 128, codes, [](int k, int n) { return k == n + 8 ? 1.f : 0.f; });
    multiply(p.out + 256, rows, [](int k, int n) { return k == 0 ? 1.f : k == 1 ? 16.f * float(n) : 0.f; });
  }
};

/// What a warpgroup's threads hold of wgmma, N columns. out_d [128][N / 2] is of a product whose element (m, n) is
/// m + 64 n; out_a [128][8] is of A in registers, half h of register i of a thread holding 8 thread + 2 i + h, times
/// the identity.
template <int N>
struct WgmmaProbe {
  using ATile = PanelTile<f16, 64, 16, SwizzleMode::k32B>;
  using BTile = PanelTile<f16, N, 16, SwizzleMode::k32B>;
  using Identity = PanelTile<f16, 16, 16, SwizzleMode::k32B>;
  struct Params {
    float *out_d, *out_a;
  };
  struct Shared {
    ATile a;
    BTile b;
    Identity identity;
  };
  static constexpr int kThreads = 128, kMinBlocks = 1;

  template <class Tile, class Value>
  static void fill(Tile& s_tile, Value value) {
    for (int i = arch::thread(); i < Tile::kRows * 16; i += kThreads) {
      const uint32 bits = arch::pack<f16>(value(i / 16, i % 16), 0);
      arch::store_shared(s_tile.data, Tile::offset(i / 16, i % 16), f16{static_cast<unsigned short>(bits)});
    }
  }
  template <int Half>
  static void store(float* g_out, const float (&d)[Half]) {
#pragma unroll
    for (int i = 0; i < Half; ++i) arch::store_if(true, g_out, arch::thread() * Half + i, d[i]);
  }

  static void run(const Params& p) {
    auto& s = arch::shared<Shared>();
    fill(s.a, [](int m, int k) { return k == 0 ? float(m) : k == 1 ? 1.f : 0.f; });
    fill(s.b, [](int n, int k) { return k == 0 ? 1.f : k == 1 ? 64.f * float(n) : 0.f; });
    fill(s.identity, [](int n, int k) { return n == k ? 1.f : 0.f; });
    arch::fence_proxy_async();
    arch::sync_block();
    float d[N / 2] = {}, codes[8] = {};
    uint32 a[4];
    for (int i = 0; i < 4; ++i) {
      const int code = 8 * arch::thread() + 2 * i;
      a[i] = arch::pack<f16>(float(code), float(code + 1));
    }
    arch::wgmma_fence(d, codes, a);
    arch::wgmma_m64k16<f16>(d, encode(ATile::k_major(arch::shared_address(s.a.data), 0, 0)),
                            encode(BTile::k_major(arch::shared_address(s.b.data), 0, 0)), false);
    arch::wgmma_m64k16<f16>(codes, a, encode(Identity::k_major(arch::shared_address(s.identity.data), 0, 0)), false);
    arch::wgmma_commit();
    arch::wgmma_wait<0>(d, codes);
    store(p.out_d, d);
    store(p.out_a, codes);
  }
};

}  // namespace flashfit::testing
