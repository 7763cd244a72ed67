#pragma once
// Memory that a caller lends a call for what lies between its launches.
#include <cstdint>
#include <span>

#include "runtime/api/argument.hpp"

namespace flashfit::api {

/// Whether `bytes` of device memory at `data` serve a plan that needs `needed` of them, more than 0. They overlap none
/// of `tensors`. Errors: kInvalidArgument.
Result<void> check_workspace(const void* data, std::uint64_t bytes, std::uint64_t needed,
                             std::span<const Argument* const> tensors);

}  // namespace flashfit::api
