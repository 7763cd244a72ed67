#pragma once
// A layer of experts behind the C API: arguments checked, planned and run.
#include <cstdint>

#include "core/base/error.hpp"
#include "flashfit/flashfit.h"
#include "runtime/api/workspace.hpp"

namespace flashfit::api {

/// Computes (CPU) or queues on the stream (GPU); nothing waits, nothing is allocated on a device. Errors:
/// kInvalidArgument with the argument, its value and what is accepted; kMisfit; kDisabled; those of the backends and of
/// find_workspace().
Result<void> fused_moe(const flashfit_fused_moe_args* args, const Allocator& allocator);

/// All of fused_moe() but the launches: the kernels are loaded.
Result<void> prepare_moe(const flashfit_fused_moe_args* args);

/// The bytes of device memory that the call needs; 0 on the CPU.
Result<std::uint64_t> fused_moe_workspace(const flashfit_fused_moe_args* args);

}  // namespace flashfit::api
