#include "attention/variants.hpp"

#include <fmt/format.h>

namespace flashfit {
namespace {

using enum Target::Kind;
using enum DType;

// PTX of a row's oldest target runs on what comes after every machine code, and on any newer GPU in tests.
constexpr Target kAmpereOn[] = {{80, kSass}, {86, kSass}, {89, kSass}, {90, kSass}, {100, kSass}, {120, kSass}, {80, kPtx}};
constexpr Target kTuring[] = {{75, kSass}, {75, kPtx}};

constexpr ForwardConfig row(DType t, int head_dim, int block_m, int block_n, int warps, int min_blocks) {
  return {.dtype = t, .head_dim = head_dim, .block_m = block_m, .block_n = block_n, .warps = warps, .stages = 2, .min_blocks = min_blocks};
}

// Tall tiles feed each K and V fragment to two m16 tiles; short ones fill a GPU when there are few rows.
constexpr ForwardVariant kVariants[] = {
    {row(kF16, 32, 128, 64, 4, 2), kAmpereOn},
    {row(kF16, 32, 64, 64, 4, 3), kAmpereOn},
    {row(kF16, 64, 128, 64, 4, 2), kAmpereOn},
    {row(kF16, 64, 64, 64, 4, 3), kAmpereOn},
    {row(kF16, 128, 128, 32, 4, 2), kAmpereOn},
    {row(kF16, 128, 64, 32, 4, 2), kAmpereOn},
    {row(kBF16, 32, 128, 64, 4, 2), kAmpereOn},
    {row(kBF16, 32, 64, 64, 4, 3), kAmpereOn},
    {row(kBF16, 64, 128, 64, 4, 2), kAmpereOn},
    {row(kBF16, 64, 64, 64, 4, 3), kAmpereOn},
    {row(kBF16, 128, 128, 32, 4, 2), kAmpereOn},
    {row(kBF16, 128, 64, 32, 4, 2), kAmpereOn},
    {row(kF16, 32, 64, 64, 4, 2), kTuring},
    {row(kF16, 64, 64, 64, 4, 2), kTuring},
    {row(kF16, 128, 64, 32, 4, 1), kTuring},
};

}  // namespace

std::span<const ForwardVariant> forward_variants() { return kVariants; }

std::string name_of(const ForwardConfig& c) {
  return fmt::format("fwd_mma_{}_d{}_{}x{}_w{}_s{}_b{}", name_of(c.dtype), c.head_dim, c.block_m, c.block_n, c.warps, c.stages, c.min_blocks);
}

const ForwardVariant* find_forward_variant(const std::string& name) {
  for (const ForwardVariant& v : kVariants)
    if (name_of(v.config) == name) return &v;
  return nullptr;
}

}  // namespace flashfit
