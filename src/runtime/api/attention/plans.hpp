#pragma once
// Explanations as the C API's structs.
#include <cstddef>

#include "core/base/error.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::api {

/// flashfit_explain. Errors: read_explain()'s; kInvalidArgument for plans, capacity or a struct_size that cannot be.
Result<void> explain_plans(const flashfit_explain_args* args, flashfit_plan* plans, std::size_t capacity,
                           std::size_t* count);

}  // namespace flashfit::api
