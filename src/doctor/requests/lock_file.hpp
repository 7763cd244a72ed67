#pragma once
// pylock.toml (packaging.python.org, "pylock.toml Specification": PEP 751).
#include <string_view>

#include "doctor/requests/request.hpp"

namespace flashfit::doctor::requests {

/// Never fails: what cannot be read is in RequestList::troubles.
RequestList read_lock(std::string_view text);

}  // namespace flashfit::doctor::requests
