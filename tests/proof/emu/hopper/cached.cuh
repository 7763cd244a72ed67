#pragma once
// 16 bytes a load, and each way to say how long L2 is to keep what is moved.
#include "core/base/mbarrier.hpp"
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[i] = x[i], where a quarter of x comes by plain loads, by read-only loads, by cp.async and by a bulk copy each.
struct CachedKernel {
  static constexpr int kQuarter = 128, kThreads = 32, kMinBlocks = 1;
  struct Params {
    const float* x;
    float* y;
    float kept;  ///< the fraction of the bulk copy that is to stay
  };
  struct Shared {
    alignas(128) float copied[kQuarter], bulk[kQuarter];
    MBarrier full;
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    const int i = arch::lane() * 4;
    if (i == 0) {
      arch::mbarrier_init(s.full, 1);
      arch::fence_mbarrier_init();
    }
    arch::sync_block();
    const arch::CachePolicy once = arch::cache_policy<arch::Eviction::kFirst>();
    const arch::CachePolicy often = arch::cache_policy<arch::Eviction::kLast>(p.kept);
    if (i == 0) {
      arch::mbarrier_arrive_expect_tx(s.full, sizeof s.bulk);
      arch::copy_bulk_to_shared(s.bulk, 0, p.x, 3 * kQuarter, sizeof s.bulk, s.full, often);
    }
    arch::cp_async_16(s.copied, i, p.x, 2 * kQuarter + i, true, once);
    arch::cp_async_commit();
    arch::store_if(true, p.y, i, arch::load<Bytes16>(p.x, i));
    const Bytes16 read_only =
        i % 8 == 0 ? arch::load_read_only(p.x, kQuarter + i) : arch::load_read_only(p.x, kQuarter + i, once);
    arch::store_if(true, p.y, kQuarter + i, read_only);
    arch::cp_async_wait<0>();
    arch::sync_block();
    arch::mbarrier_wait(s.full, 0);
    arch::store_if(true, p.y, 2 * kQuarter + i, arch::load_shared<Bytes16>(s.copied, i));
    arch::store_if(true, p.y, 3 * kQuarter + i, arch::load_shared<Bytes16>(s.bulk, i));
  }
};

}  // namespace flashfit::testing
