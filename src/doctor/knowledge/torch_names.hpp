#pragma once
// Which releases of PyTorch have a name, where a version alone is known and none of its libraries.
#include <optional>
#include <string>
#include <string_view>

#include "doctor/packaging/version.hpp"

namespace flashfit::doctor {

/// Why that release lacks the name: "of torch 2.10", "until torch 2.2". Nullopt: it has it, or that is not known.
std::optional<std::string> lacks_name(const Version& torch, std::string_view name);

/// Which releases have it: "2.10 and later", "2.2 and earlier", "2.1 to 2.2"; "" if that is not known, or all do.
std::string releases_with(std::string_view name);

}  // namespace flashfit::doctor
