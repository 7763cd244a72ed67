#pragma once
// The `pip install` and `uv pip install` commands of a Dockerfile (Docker's manual, "Dockerfile reference").
#include <string_view>

#include "doctor/requests/request.hpp"

namespace flashfit::doctor::requests {

/// Never fails: what cannot be read is in RequestList::troubles. ARG and ENV are put in; an ARG without a default is
/// not known, and neither is what a shell sets. A request's base is the stage that it stands in; a file that a command
/// names is one of the build's context, the Dockerfile's folder.
RequestList read_dockerfile(std::string_view text);

}  // namespace flashfit::doctor::requests
