#pragma once
// What a layer of experts would run on any GPU, behind the C API.
#include <string>

#include "core/base/error.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::api {

/// A list of write_explanation()'s objects (kernels/moe/experts/explain.hpp). Errors: as of explain_json().
Result<std::string> experts_json(const flashfit_fused_moe_explain_args* args);

}  // namespace flashfit::api
