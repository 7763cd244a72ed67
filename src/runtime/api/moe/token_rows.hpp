#pragma once
// Rows in the experts' order, gathered and added up, behind the C API.
#include "core/base/error.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::api {

/// Both queue one launch on the stream; nothing waits. Errors: kInvalidArgument with the argument, its value and what
/// is accepted; kMisfit where no image serves; kDisabled; the driver's.
Result<void> moe_gather_rows(const flashfit_moe_rows_args* args);
Result<void> moe_sum_rows(const flashfit_moe_rows_args* args);

}  // namespace flashfit::api
