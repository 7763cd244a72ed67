#pragma once
// The tensor core's sum, one output element at a time and by the book: what the vectorised sum leaves to it, and what
// tests hold that one to.
#include "core/base/types.hpp"
#include "proof/emu/tensor_core.hpp"

namespace flashfit::emu {

/// c + sum over `terms` k of a[k] b[k * b_stride]; the operands are bits of `dtype` (fp16 or bf16).
float fused_sum(DType dtype, const unsigned short* a, const unsigned short* b, int b_stride, int terms, float c,
                int fraction_bits);

}  // namespace flashfit::emu
