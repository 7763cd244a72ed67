#pragma once
// PTX of a kernel list, decoded, to be run on the CPU.
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "proof/ptx/program.hpp"

namespace flashfit::lab {

/// The newest PTX called `name` in `blob`. Error: kMisfit names the kernel and what the blob holds; kInvalidArgument an
/// instruction that the executor does not know.
Result<std::unique_ptr<ptx::Program>> kernel_ptx(std::span<const std::byte> blob, const std::string& name);

}  // namespace flashfit::lab
