#include "doctor/knowledge/torch_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "doctor/knowledge/data.hpp"

namespace flashfit::doctor {
namespace {

using Minor = std::pair<std::uint64_t, std::uint64_t>;

/// The first and the last release that has a name, where others lack it.
struct Releases {
  std::optional<Minor> since, until;
};

Minor minor_of(const Version& version) {
  return {version.release[0], version.release.size() > 1 ? version.release[1] : 0};
}

std::string str(Minor minor) { return fmt::format("{}.{}", minor.first, minor.second); }

/// PyTorch's own class gave way to the C++ library's: the class's name as mangled, and the releases on both sides.
struct Replaced {
  std::string_view name;
  Minor last_own, first_of_library;
};
// Source: at::_ops of libtorch_cpu in the wheels of 2.0 to 2.15, which have the one or the other.
constexpr Replaced kReplaced[] = {{"8optionalI", {2, 1}, {2, 2}}, {"17basic_string_viewI", {2, 5}, {2, 6}}};

/// Operators take these classes. They are thousands: no list has them.
Releases releases_of_operator(std::string_view name) {
  Releases found;
  if (!name.starts_with("_ZN2at4_ops")) return found;
  for (const Replaced& replaced : kReplaced) {
    const std::size_t at = name.find(replaced.name);
    if (at == std::string_view::npos) continue;
    if (!name.substr(0, at).ends_with("St")) {
      found.until = std::min(found.until.value_or(replaced.last_own), replaced.last_own);
    } else {
      found.since = std::max(found.since.value_or(replaced.first_of_library), replaced.first_of_library);
    }
  }
  return found;
}

Releases releases_of(std::string_view name) {
  const KnowledgeData& known = knowledge_data();
  if (const Version* const since = known.stable_function_since(name)) return {.since = minor_of(*since)};
  const CxxFunction* const function = known.cxx_function(name);
  if (function == nullptr) return releases_of_operator(name);
  Releases found;
  if (function->since) found.since = minor_of(*function->since);
  if (function->until) found.until = minor_of(*function->until);
  return found;
}

}  // namespace

std::optional<std::string> lacks_name(const Version& torch, std::string_view name) {
  if (torch.is_prerelease()) return std::nullopt;  // it may have some of the next release already
  const Releases has = releases_of(name);
  const Minor minor = minor_of(torch);
  if (has.since && minor < *has.since) return "of torch " + str(*has.since);
  if (has.until && minor > *has.until) return "until torch " + str(*has.until);
  return std::nullopt;
}

std::string releases_with(std::string_view name) {
  const Releases has = releases_of(name);
  if (has.since && has.until)
    return *has.since == *has.until ? str(*has.since) : fmt::format("{} to {}", str(*has.since), str(*has.until));
  if (has.since) return str(*has.since) + " and later";
  return has.until ? str(*has.until) + " and earlier" : "";
}

}  // namespace flashfit::doctor
