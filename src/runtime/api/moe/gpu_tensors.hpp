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

/// A tensor that a caller gives of a product grouped by experts.
struct ProductTensor {
  const char* name;
  const DLTensor* tensor;
  int ndim;
  const char* layout;  ///< in words, for a refusal
  Argument& to;
};
/// Reads them, on the GPU of the first; those of several dimensions begin at a multiple of 16 bytes.
Result<void> read_product_tensors(std::initializer_list<ProductTensor> all);

/// half_dtype_of() operands and result, beside int32 offsets.
Result<DType> product_dtype_of(const Argument& a, const Argument& other, const Argument& offsets, const Argument& out);

/// Refuses offsets and a result that are not contiguous, and a result that lies in what is read.
Result<void> check_product_memory(const Argument& a, const Argument& other, const Argument& offsets,
                                  const Argument& out);

}  // namespace flashfit::api
