#pragma once
#include "inspect/read_target.hpp"

namespace flashfit::cli {

/// Shows on a terminal how far a long reading has come, from the second second on; nothing elsewhere.
inspect::Progress progress_line();

}  // namespace flashfit::cli
