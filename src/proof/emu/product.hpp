#pragma once
// The arithmetic of one matrix instruction, which mma.sync and wgmma share.
#include "core/base/types.hpp"
#include "proof/emu/tensor_core.hpp"

namespace flashfit::emu {

/// d[i][j] += sum over k of a[i][k] b[k][j], for the 16 k of one instruction. Rows lie one after another: a [m, 16],
/// b [16, n] of 16-bit numbers, d [m, n] of fp32. m a multiple of 4, n of 8.
struct Product {
  const unsigned short *a, *b;
  float* d;
  int m, n;
};

/// Adds a product of fp16 or bf16 matrices. core = nullptr: each term is added in fp32, to nearest even, in the order
/// of k; the same bits on every machine. Else as that tensor core rounds.
void accumulate(DType dtype, const Product& product, const TensorCore* core);

}  // namespace flashfit::emu
