#pragma once
// Whose name a missing symbol is, where it is neither PyTorch's, Python's nor CUDA's.
#include <string>
#include <string_view>

namespace flashfit::doctor::pasted {

/// "tensorrt_llm" of "_ZN12tensorrt_llm7kernels4gemmEv": the outermost namespace; "" if it has none.
std::string namespace_of(std::string_view symbol);

/// "Apache Arrow's (libarrow: pyarrow and conda's libarrow bring it)", by the name's beginning or its outermost
/// namespace; "" of names that no row has.
std::string_view owner_of(std::string_view symbol);

/// "2.32" of "__libc_single_threaded": the first glibc that has a function which builds ask for without a version; ""
/// of others. Source: glibc's NEWS of each release.
std::string_view first_glibc_with(std::string_view symbol);

}  // namespace flashfit::doctor::pasted
