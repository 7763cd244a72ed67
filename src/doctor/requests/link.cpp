#include "doctor/requests/link.hpp"

#include <algorithm>

#include "core/base/ascii.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor::requests {
namespace {

constexpr std::string_view kFile = "file:";

/// "https" of "https://host"; "" where there is none.
std::string_view scheme_of(std::string_view text) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos) return text.starts_with(kFile) ? kFile.substr(0, 4) : std::string_view{};
  const std::string_view scheme = text.substr(0, end);
  const bool sound = !scheme.empty() && std::all_of(scheme.begin(), scheme.end(),
                                                    [](char c) { return is_alnum(c) || c == '+' || c == '-'; });
  return sound ? scheme : std::string_view{};
}

/// "file:///a/x.whl" -> "/a/x.whl".
std::string_view path_of_file(std::string_view address) {
  address.remove_prefix(kFile.size());
  if (!address.starts_with("//")) return address;
  address.remove_prefix(2);
  return address.substr(std::min(address.find('/'), address.size()));  // a host is this one
}

}  // namespace

bool is_link(std::string_view text) {
  const std::size_t extras = text.find('[');
  const std::string name = lower(text.substr(0, extras));
  if (!scheme_of(text).empty() || name.starts_with('.') || name.find('/') < name.find_first_of(" ;@")) return true;
  const std::string_view first = std::string_view(name).substr(0, name.find_first_of(" ;@"));
  return first.ends_with(".whl") || first.ends_with(".tar.gz") || first.ends_with(".zip") || first.ends_with(".tgz") ||
         first.ends_with(".tar.bz2");
}

std::optional<WheelLink> wheel_link(std::string_view text) {
  const std::string_view scheme = scheme_of(text);
  std::string_view path = text;
  if (!scheme.empty()) path = path.substr(0, path.find_first_of("#?"));
  // A path may have extras behind it: "./x.whl[gpu]".
  if (const std::size_t extras = path.rfind('['); scheme.empty() && path.ends_with(']')) path = path.substr(0, extras);
  if (!lower(path).ends_with(".whl")) return std::nullopt;
  WheelLink link;
  if (scheme == "file") {
    path = path_of_file(path);
    link.path = path;
  } else if (scheme.empty()) {
    link.path = path;
  } else {
    link.url = text;
  }
  link.file_name = path.substr(path.find_last_of('/') + 1);
  return link;
}

std::string egg_of(std::string_view text) {
  constexpr std::string_view kEgg = "egg=";
  const std::size_t at = text.find(kEgg, std::min(text.find('#'), text.size()));
  if (at == std::string_view::npos) return "";
  const std::string_view name = text.substr(at + kEgg.size());
  return doctor::normalised_name(name.substr(0, name.find_first_of("&[")));
}

std::string without_credentials(std::string_view address) {
  const std::size_t host = address.find("://");
  if (host == std::string_view::npos) return std::string(address);
  const std::size_t end = std::min(address.find('/', host + 3), address.size());
  const std::size_t at = address.substr(0, end).rfind('@');
  if (at == std::string_view::npos || at < host) return std::string(address);
  return std::string(address.substr(0, host + 3)) + std::string(address.substr(at + 1));
}

}  // namespace flashfit::doctor::requests
