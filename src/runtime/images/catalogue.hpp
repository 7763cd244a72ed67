#pragma once
// The one catalogue of kernels: the variants of every family, in the order of its list. The build makes images of them,
// an image points to its variant, the emulator's tests run all of them.
#include <span>
#include <string_view>

#include "core/launch/kernel_variant.hpp"

namespace flashfit {

/// Every variant; those of an operation lie together.
std::span<const KernelVariant> catalogue();

/// The variants of one operation, in its own order.
std::span<const KernelVariant> variants_of(std::string_view operation);

/// The variant of that name, or nullptr.
const KernelVariant* find_kernel_variant(std::string_view name);

}  // namespace flashfit
