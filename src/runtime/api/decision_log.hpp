#pragma once
// FLASHFIT_LOG=1: one line on stderr for each distinct decision.
#include <string>

namespace flashfit::api {

/// Whether FLASHFIT_LOG asks for lines; a line is made only then.
bool logging();

/// Writes the line, unless it was written before.
void log_once(std::string line);

}  // namespace flashfit::api
