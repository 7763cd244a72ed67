#pragma once
// How a token's rows of y are added up, wherever that is done: in fp32, eight neighbouring outputs a lane, rounded
// once. The order of rows is the caller's, that of k; so the launch that adds up and the warps that do so between the
// tiles give the same bits.
#include "kernels/arch/arch.hpp"

namespace flashfit {

template <class T>
void add_row(float (&total)[8], const Bytes16& y, float weight) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const T half{static_cast<unsigned short>(y.words[i / 2] >> i % 2 * 16)};
    total[i] = arch::multiply_add(weight, arch::widen(half), total[i]);
  }
}

template <class T>
Bytes16 rounded(const float (&total)[8]) {
  Bytes16 words;
#pragma unroll
  for (int i = 0; i < 4; ++i) words.words[i] = arch::pack<T>(total[2 * i], total[2 * i + 1]);
  return words;
}

}  // namespace flashfit
