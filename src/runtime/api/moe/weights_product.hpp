#pragma once
// The product that gives gradients of experts' weights, behind the C API.
#include "core/base/error.hpp"
#include "runtime/api/workspace.hpp"

namespace flashfit::api {

/// Queues the work on the stream; nothing waits. `allocator` is asked once, after all checks, where the arguments have
/// no workspace. Errors: kInvalidArgument with the argument, its value and what is accepted; kMisfit where no image
/// serves; kDisabled; kOutOfMemory; the driver's.
Result<void> moe_weights_product(const flashfit_moe_weights_product_args* args, const Allocator& allocator);

}  // namespace flashfit::api
