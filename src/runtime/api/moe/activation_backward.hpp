#pragma once
// What a layer of experts' backward computes between its products, behind the C API.
#include "core/base/error.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::api {

/// Queues the work on the stream; nothing waits, nothing is allocated on a device. Errors: kInvalidArgument with the
/// argument, its value and what is accepted; kMisfit where no image serves; kDisabled; the driver's.
Result<void> moe_activation_backward(const flashfit_moe_activation_backward_args* args);

}  // namespace flashfit::api
