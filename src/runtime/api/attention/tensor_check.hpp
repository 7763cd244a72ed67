#pragma once
// From the C API's arguments to a call that backends need not doubt: every rule of flashfit.h is held here, before
// anything is launched or written.
#include <string_view>

#include "core/base/error.hpp"
#include "flashfit/flashfit.h"
#include "kernels/attention/problem.hpp"
#include "runtime/api/attention/forward_tensors.hpp"

namespace flashfit::api {

struct CheckedForward {
  // One that is defaulted would be zeroed before it is filled, a fifth of the check's time.
  CheckedForward() {}  // NOLINT(modernize-use-equals-default)

  ForwardCall call;
  bool on_gpu = false;
  int device = 0;  ///< CUDA device index; 0 on the CPU
  flashfit_stream stream = nullptr;
  std::string_view variant;  ///< empty: choose
  bool ptx_only = false;
  ForwardTensors tensors;
  void* workspace = nullptr;  ///< checked once the plan says what it needs
  std::uint64_t workspace_bytes = 0;
};

/// Errors (Code::kInvalidArgument): one line with the argument, its value and what is accepted. cu_seqlens and
/// seqused_k are read only on the CPU; on a GPU their values are the caller's promise (kernels clamp them, so that a
/// broken promise reads wrong rows but no foreign memory).
Result<CheckedForward> check_forward(const flashfit_attention_args* args);

}  // namespace flashfit::api
