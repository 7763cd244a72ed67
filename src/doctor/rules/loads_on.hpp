#pragma once
#include <optional>
#include <string>

#include "doctor/facts/facts.hpp"
#include "doctor/packaging/platform.hpp"

namespace flashfit::doctor {

/// Whether a library with host's code is of the machine and of the system asked for.
bool loads_on(const Binary& binary, const Platform& here);

/// Whether the host's code in it is known to be for another machine or system; false where there is none.
inline bool is_alien(const Binary& binary, const std::optional<Platform>& here) {
  return here && !binary.machine.empty() && !loads_on(binary, *here);
}

/// "Windows amd64": of host's code.
std::string machine_text(const Binary& binary);

}  // namespace flashfit::doctor
