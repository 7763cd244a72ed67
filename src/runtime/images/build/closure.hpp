#pragma once
// The text that a kernel is made of, for the keys of the cache.
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace flashfit {

/// The text of `header` and of every file that it includes, each once. Names are looked for in `folders`, in their
/// order; kernels include nothing else. Errors: an #include that none of them has; a type whose members have default
/// initialisers (member_initialisers.hpp), named by file and line.
Result<std::string> closure_of(const std::string& header, const std::vector<std::filesystem::path>& folders);

/// 128 bits of a text, in hexadecimal.
std::string hash_of(const std::string& text);

/// A hash of a file, such as the compiler's own, so that another build of the same version is another compiler.
Result<std::string> fingerprint(const std::filesystem::path& file);

}  // namespace flashfit
