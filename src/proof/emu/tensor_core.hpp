#pragma once
// How tensor cores round. No vendor documents it; measurements agree on one scheme (Fasi, Higham, Mikaitis, Pranesh,
// "Numerical behavior of NVIDIA tensor cores", PeerJ CS 2021; Xie et al., "MMA-Sim: Bit-Accurate Reference Model of
// Tensor Cores and Matrix Cores", arXiv 2511.10909): products of 16-bit numbers are exact; some of them and the
// accumulator are aligned to the largest exponent among them, cut off a few bits below it, and added exactly; the sum
// is cut off to fp32.

namespace flashfit::emu {

/// The scheme's parameters for fp16 and bf16 operands with fp32 accumulators.
struct TensorCore {
  int terms;          ///< products that are added at once; more take turns, in the order of k
  int fraction_bits;  ///< bits kept below the largest exponent
  bool operator==(const TensorCore&) const = default;
};

/// Of a compute capability as major * 10 + minor, such as 90. mma.sync and wgmma of one GPU are alike.
constexpr TensorCore tensor_core_of(int compute_capability) {
  if (compute_capability < 75) return {4, 23};
  if (compute_capability < 90) return {8, 24};
  return {16, 25};
}

}  // namespace flashfit::emu
