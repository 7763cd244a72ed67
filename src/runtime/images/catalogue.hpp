#pragma once
// The one catalogue of kernels: the rows of every family, in the order of its list. The build makes images of them, an
// image points to its row, the emulator's tests run all of them.
#include <span>
#include <string_view>

#include "core/launch/kernel_row.hpp"

namespace flashfit {

/// Every row; those of an operation lie together.
std::span<const KernelRow> catalogue();

/// The rows of one operation, in its own order.
std::span<const KernelRow> rows_of(std::string_view operation);

/// The row of that name, or nullptr.
const KernelRow* find_kernel_row(std::string_view name);

}  // namespace flashfit
