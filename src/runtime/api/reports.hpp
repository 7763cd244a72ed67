#pragma once
// The C API's JSON documents. docs/api.md lists the keys.
#include <string>

#include "core/base/error.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::api {

/// Errors: read_explain()'s, JsonText's. A misfit is an answer, no error.
Result<std::string> explain_json(const flashfit_explain_args* args);

/// [{"operation", "variant", "target", "registers", "local_bytes", "shared_memory_bytes", "bytes"}],
/// in the order of the catalogue, then by target. Errors: JsonText's.
Result<std::string> images_json();

/// {"driver", "cuda", "no_gpu_reason", "gpus": [{"index", "gpu", "compute_capability", "sms",
/// "shared_memory_limit_bytes"}]}; null where unknown. Errors: JsonText's.
Result<std::string> gpus_json();

}  // namespace flashfit::api
