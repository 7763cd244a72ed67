#pragma once
// The cases that the CPU backend, the emulator and GPUs are all tried on.
#include <cstdint>
#include <vector>

#include "proof/reference/forward_data.hpp"

namespace flashfit::testing {

using reference::BiasCase, reference::OptionCase, reference::Sinks, reference::Slopes;
using reference::check, reference::expect, reference::make_data, reference::problem_of;
using reference::Expected, reference::ForwardCase, reference::ForwardData, reference::Layout, reference::Random,
    reference::Storage, reference::Tensor, reference::Verdict;

enum class Size : unsigned char {
  kFull,   ///< for backends at speed: the origin's shapes as they are
  kSmall,  ///< for an emulator: the same structure, at most about 200 rows
};

/// Every lengths' edge around tiles of 64 and 128, no keys, causal with both Sq < Sk and Sq > Sk, GQA and MQA, ragged
/// batches with empty sequences, all layouts, three and more blocks of keys,
/// and the origin's seven shapes (those at head_dim 64 alone).
/// Names are letters, digits and underscores, unique in the list.
std::vector<ForwardCase> forward_cases(DType dtype, std::int64_t head_dim, Size size);

/// Every option of attention alone and with others: windows (also such that hide every key from some rows), softcap,
/// ALiBi, sinks, bias of each kind and each way to broadcast it, seqused_k, and v's own head_dim. At most about 200
/// rows each, so that an emulator has its time; no name is one of forward_cases().
std::vector<ForwardCase> option_cases(DType dtype, std::int64_t head_dim);

}  // namespace flashfit::testing
