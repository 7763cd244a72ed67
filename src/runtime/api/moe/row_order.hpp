#pragma once
// The order of a backward's rows, behind the C API.
#include "core/base/error.hpp"
#include "runtime/api/workspace.hpp"

namespace flashfit::api {

/// Queues the work on the stream; nothing waits. `allocator` is asked once, after all checks, where the arguments have
/// no workspace and one is needed. Errors: kInvalidArgument with the argument, its value and what is accepted; kMisfit
/// where no image serves; kDisabled; kOutOfMemory; the driver's.
Result<void> moe_sort_rows(const flashfit_moe_sort_rows_args* args, const Allocator& allocator);

}  // namespace flashfit::api
