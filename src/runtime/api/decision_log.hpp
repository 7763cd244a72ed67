#pragma once
// FLASHFIT_LOG=1: one line on stderr for each distinct decision.
#include <string>

#include "core/base/error.hpp"

namespace flashfit::api {

/// Whether FLASHFIT_LOG asks for lines; a line is made only then.
bool logging();

/// Writes the line, unless it was written before.
void log_once(std::string line);

/// Of a call of the operation `name`: a line if it was refused.
void log_refusal(const char* name, const Result<void>& done);

}  // namespace flashfit::api
