// How query rows lie in vectors. Compiled once for each Highway target, hence the toggled guard.
#if defined(FLASHFIT_CPU_PANEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_PANEL_INL
#undef FLASHFIT_CPU_PANEL_INL
#else
#define FLASHFIT_CPU_PANEL_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

// A tile of kTile keys (or columns of V) by 3 vectors of rows holds its accumulators, 3 vectors and a scalar in the
// vector registers.
inline constexpr int kTile = (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3) ? 4 : 8;
inline constexpr int kVectors = 3;
inline constexpr int kLanes = HWY_LANES(float);
inline constexpr int kPanel = kVectors * kLanes;
inline constexpr int kPanels = 96 / kPanel;
inline constexpr int kRows = kPanels * kPanel;
inline constexpr int kKeys = 64;

constexpr int tile_floor(int key) { return key / kTile * kTile; }
constexpr int tile_ceil(int key) { return tile_floor(key + kTile - 1); }

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
