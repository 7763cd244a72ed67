#pragma once
// SHA-256 (FIPS 180-4), by which lists name the files that they mean.
#include <string>

#include "core/base/error.hpp"

namespace flashfit::doctor::requests {

/// 64 lower-case hex digits of a file's bytes. Errors: it cannot be opened, or read.
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace flashfit::doctor::requests
