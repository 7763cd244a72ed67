#pragma once
// The tensors of an attention call: read, and held to what must agree among them.
#include "api/argument.hpp"
#include "base/types.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::api {

/// lse, cu_q and cu_k have no name unless given.
struct ForwardTensors {
  Argument q, k, v, out, lse, cu_q, cu_k;
  bool has_lse = false, ragged = false;
};

Result<void> read_tensors(const flashfit_attention_args& args, ForwardTensors& tensors);

/// All on q's device.
Result<void> check_devices(const ForwardTensors& tensors);
/// q's, which k, v and out share.
Result<DType> check_dtypes(const ForwardTensors& tensors);
Result<void> check_shapes(const ForwardTensors& tensors);

}  // namespace flashfit::api
