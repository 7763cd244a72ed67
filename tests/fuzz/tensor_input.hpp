#pragma once
// A tensor of a fuzzed call: a sound descriptor, and what bends it.
#include <cstdint>
#include <span>
#include <vector>

#include "arena.hpp"
#include "bytes.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::fuzz {

inline constexpr DLDataType kDTypes[] = {{kDLFloat, 16, 1}, {kDLBfloat, 16, 1}, {kDLFloat, 32, 1}};

struct InputTensor {
  DLTensor dl;
  std::vector<std::int64_t> shape, strides;
  bool given = true, null_strides = false, null_shape = false;
  int ndim = 0;  ///< what the descriptor says; shape and strides have no more entries than it

  void seal();
  const DLTensor* argument() const { return given ? &dl : nullptr; }
};

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& shape);

/// Addresses that no tensor has: the calls must be refused, or be a GPU's.
void* wild(Bytes& bytes);

/// Bends `t` in one of kTensorTwists ways. `all`: the tensors that its memory may come to overlap.
inline constexpr std::size_t kTensorTwists = 14;
void twist(std::size_t what, InputTensor& t, std::span<const InputTensor> all, Bytes& bytes, Arena& arena);

}  // namespace flashfit::fuzz
