#pragma once
// The tensors of an attention call: read, and held to what must agree among them.
#include "core/base/types.hpp"
#include "flashfit/flashfit.h"
#include "kernels/attention/problem.hpp"
#include "runtime/api/argument.hpp"

namespace flashfit::api {

/// Those after out have no name unless given.
struct ForwardTensors {
  Argument q, k, v, out, lse, cu_q, cu_k, alibi, sinks, bias, seqused_k;
  bool has_lse = false, ragged = false;
  bool has_options = false;  ///< one of alibi, sinks, bias, seqused_k is given

  std::int64_t batch() const { return ragged ? cu_q.size[0] - 1 : q.size[0]; }
  std::int64_t heads_q() const { return q.size[q.ndim - 2]; }
  /// Rows of a sequence if dense, else of all.
  std::int64_t rows_q() const { return q.size[q.ndim - 3]; }
  std::int64_t rows_k() const { return k.size[k.ndim - 3]; }
};

inline bool is_given(const Argument& a) { return *a.name != '\0'; }

Result<void> read_tensors(const flashfit_attention_args& args, ForwardTensors& tensors);

/// All on q's device.
Result<void> check_devices(const ForwardTensors& tensors);
/// q's, which k, v and out share.
Result<DType> check_dtypes(const ForwardTensors& tensors);
Result<void> check_shapes(const ForwardTensors& tensors);
/// Of a bias that has passed check_dtypes.
BiasKind bias_kind(const ForwardTensors& tensors);

}  // namespace flashfit::api
