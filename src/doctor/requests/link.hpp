#pragma once
// What an address or a path in a list names: a wheel, or sources.
#include <optional>
#include <string>
#include <string_view>

#include "doctor/requests/request.hpp"

namespace flashfit::doctor::requests {

/// Whether it is an address or a path and no project's name: "https://...", "git+ssh://...", "./x", "x.whl",
/// "x.tar.gz".
bool is_link(std::string_view text);

/// The wheel that it names, if it names one. Of an address what follows '#' or '?' is no part of the name; a "file:"
/// address is a path.
std::optional<WheelLink> wheel_link(std::string_view text);

/// The project that "#egg=name" names, normalised; "" if none.
std::string egg_of(std::string_view text);

/// Without a user's name and password, which are nobody's business in a report.
std::string without_credentials(std::string_view address);

}  // namespace flashfit::doctor::requests
