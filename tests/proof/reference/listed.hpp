#pragma once
// Cases of the one list (bench/cases/forward.json) as those that the CPU backend and the emulator are tried on.
#include <string_view>
#include <vector>

#include "proof/reference/cases.hpp"

namespace flashfit::testing {

/// Those of `group` with this dtype, head_dim (0: any) and at most `flop`: an emulator does some 5e9 a second.
std::vector<ForwardCase> listed_cases(std::string_view group, DType dtype, std::int64_t head_dim, double flop = 3e7);

}  // namespace flashfit::testing
