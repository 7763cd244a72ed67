#pragma once
// pylock.toml (packaging.python.org, "pylock.toml Specification": PEP 751).
#include <string_view>

#include "requests/request.hpp"

namespace flashfit::requests {

/// Never fails: what cannot be read is in RequestList::troubles.
RequestList read_lock(std::string_view text);

}  // namespace flashfit::requests
