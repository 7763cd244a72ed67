#pragma once
// The parts that every operation's question to flashfit_explain* has.
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/types.hpp"
#include "core/gpu/gpu.hpp"

namespace flashfit::api {

/// A number of the caller's struct and what it may be.
struct Number {
  const char* name;
  std::int64_t value, least, most;
};

/// Errors: kInvalidArgument for the first one that is less or more.
Result<void> check_numbers(std::initializer_list<Number> numbers);

/// "fp16", "bf16", "fp32". Error: kInvalidArgument for another name or nullptr.
Result<DType> parse_dtype(const char* name);

/// The GPUs that `name` means ("all": the table's; nullptr: this machine's), and the driver to assume for them. Errors:
/// kInvalidArgument for a name that is none, kNoGpu if it is nullptr on a machine without one.
Result<std::vector<Gpu>> gpus_of(const char* name, CudaVersion& driver);

}  // namespace flashfit::api
