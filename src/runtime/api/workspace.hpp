#pragma once
// Memory that a caller lends a call for what lies between its launches.
#include <cstdint>
#include <span>

#include "flashfit/flashfit.h"
#include "runtime/api/argument.hpp"

namespace flashfit::api {

/// What a call was given for where its arguments have no workspace; allocate may be NULL.
struct Allocator {
  flashfit_allocate allocate = nullptr;
  void* context = nullptr;
};

/// The device memory of a plan that needs `needed` bytes, more than 0: the caller's `bytes` at `data`, or, where data
/// is NULL, what the allocator gives. It overlaps none of `tensors`. Errors: kInvalidArgument for memory that does not
/// serve the plan, kOutOfMemory where the allocator gives none.
Result<void*> find_workspace(void* data, std::uint64_t bytes, std::uint64_t needed, const Allocator& allocator,
                             std::span<const Argument* const> tensors);

}  // namespace flashfit::api
