#pragma once
// A layer of experts on a GPU: its plan, the workspace that it needs, its launches.
#include <cstdint>

#include "core/base/error.hpp"
#include "runtime/api/moe/experts_check.hpp"
#include "runtime/api/workspace.hpp"

namespace flashfit::api {

/// The bytes of workspace that a call of tensors on a GPU needs: a function of its problem alone. Errors: kMisfit names
/// what no kernel for GPUs does; kInvalidArgument names memory that kernels cannot read; the driver's.
Result<std::uint64_t> gpu_workspace(const CheckedExperts& checked);

/// Queues the call. Errors: as of gpu_workspace(), those of find_workspace(), and the loader's.
Result<void> run_on_gpu(const CheckedExperts& checked, const Allocator& allocator);

/// All of run_on_gpu() but the launches and the workspace.
Result<void> prepare_on_gpu(const CheckedExperts& checked);

}  // namespace flashfit::api
