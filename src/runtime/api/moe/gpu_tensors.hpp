#pragma once
// Rules of tensors that calls on GPUs alone share.
#include <initializer_list>

#include "core/base/types.hpp"
#include "runtime/api/argument.hpp"

namespace flashfit::api {

/// Refuses a tensor that is on no GPU, or on another one than the call's first tensor.
Result<void> check_on_gpu_of(const Argument& first, const Argument& a);

/// fp16 or bf16, which the first tensor has, and the others too.
Result<DType> half_dtype_of(const Argument& first, std::initializer_list<const Argument*> others);

/// Refuses a tensor that has not these sizes; none is of any.
Result<void> check_sizes(const Argument& a, std::initializer_list<std::int64_t> sizes);

}  // namespace flashfit::api
