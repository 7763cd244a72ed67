#pragma once
// How far rounding to a dtype moves a number at most.
#include "core/base/types.hpp"

namespace flashfit::reference {

/// Largest relative error of one rounding to nearest, of numbers that the dtype holds as normal ones.
constexpr double unit_roundoff(DType dtype) {
  return dtype == DType::kF16 ? 0x1p-11 : dtype == DType::kBF16 ? 0x1p-8 : 0x1p-24;
}

}  // namespace flashfit::reference
