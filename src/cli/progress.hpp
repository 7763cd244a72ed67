#pragma once
#include "doctor/facts/read_target.hpp"

namespace flashfit::cli {

/// Shows on a terminal how far a long reading has come, from the second second on; nothing elsewhere.
doctor::Progress progress_line();

}  // namespace flashfit::cli
