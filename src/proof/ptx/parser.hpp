#pragma once
// Reads the PTX that NVRTC makes of kernels, and what people write in asm blocks of them.
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "proof/ptx/module.hpp"

namespace flashfit::ptx {

/// Most registers, statements and bytes of variables of a text. A kernel has thousands; a hostile one must not have all
/// memory.
inline constexpr std::size_t kMostRegisters = 1 << 16, kMostStatements = 1 << 20, kMostVariableBytes = 1 << 26;

/// kInvalidArgument: "NAME:LINE: what is wrong". `text` must outlive the module.
Result<Module> parse(std::string name, std::string_view text);

}  // namespace flashfit::ptx
