#pragma once
// pip's requirements files (pip's manual, "Requirements File Format").
#include "doctor/requests/request.hpp"

namespace flashfit::doctor::requests {

/// Never fails: what cannot be read is in RequestList::troubles. Variables of the environment, ${NAME}, stay as they
/// are written: pip would take them from where it runs.
RequestList read_requirements(std::string_view text);

}  // namespace flashfit::doctor::requests
