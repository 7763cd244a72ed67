#pragma once
// The table's kernels are compiled in shards, each by a translation unit of its own, so that they compile in parallel.
#include <vector>

#include "proof/emulated/forward.hpp"

namespace flashfit::emulated {

/// As many as CMakeLists.txt makes translation units.
inline constexpr int kShards = 8;

/// Appends the variants of the table whose index is Shard modulo kShards.
template <int Shard>
void append_shard(std::vector<EmulatedKernel>& kernels);

/// Those that combine, in a translation unit of their own.
std::vector<EmulatedKernel> make_combines();

}  // namespace flashfit::emulated
