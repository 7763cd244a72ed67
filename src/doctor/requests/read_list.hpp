#pragma once
// From a path to a list of requests.
#include <optional>
#include <string>

#include "doctor/requests/request.hpp"

namespace flashfit::doctor::requests {

/// kRequirements, kLock or kDockerfile by the file's name: requirements.txt, constraints-gpu.in, anything.txt;
/// pylock.toml, pylock.NAME.toml; Dockerfile, Dockerfile.gpu, gpu.Dockerfile, Containerfile. Nothing for other names
/// and for folders.
std::optional<ListKind> list_kind_of(const std::string& path);

/// Error: "cannot be opened: WHY", or larger than limits::kListBytes.
Result<RequestList> read_list(const std::string& path, ListKind kind);

}  // namespace flashfit::doctor::requests
