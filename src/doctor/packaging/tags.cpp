#include "doctor/packaging/tags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/ascii.hpp"

namespace flashfit::doctor {
namespace {

using Implementation = Python::Implementation;

// "cp311" after "cp" -> 11; "py3" after "py" -> -1; nullopt if it is not of Python 3. Tags are compared as text, so a
// number with a leading zero is none.
std::optional<int> minor_of(std::string_view tag, std::string_view prefix) {
  if (!tag.starts_with(prefix)) return std::nullopt;
  tag.remove_prefix(prefix.size());
  if (tag.size() > 3 || !tag.starts_with('3') || !std::all_of(tag.begin(), tag.end(), is_digit)) return std::nullopt;
  if (tag.size() == 3 && tag[1] == '0') return std::nullopt;
  return tag.size() == 1 ? -1 : tag.size() == 2 ? tag[1] - '0' : (tag[1] - '0') * 10 + (tag[2] - '0');
}

std::string not_yours(std::string_view theirs, std::string_view yours) {
  return fmt::format("{} is not your {}", theirs, yours);
}

// ABI "none": any Python 3 not older than the tag, or this very one.
std::string pure_misfit(const WheelTag& tag, const Python& python) {
  if (const auto minor = minor_of(tag.python, "py"))
    return *minor <= python.minor
               ? ""
               : fmt::format("{} needs Python 3.{} or later; yours is 3.{}", tag.python, *minor, python.minor);
  // PyPy names itself by its version where there is a platform, and as pp3 where there is none.
  const bool any = tag.platform == "any", pypy = python.implementation == Implementation::kPyPy;
  const std::string own = pypy && any ? "pp3" : python.tag();
  return tag.python == own ? "" : not_yours(tag.python, own);
}

// The stable ABI: from the version named on.
std::string stable_misfit(const WheelTag& tag, const Python& python) {
  const bool for_free = tag.abi == "abi3t";
  if (python.implementation != Implementation::kCPython) return not_yours(tag.abi, python.str());
  if (for_free != python.free_threaded)
    return fmt::format("{} is for {} CPython; yours is {}", tag.abi, for_free ? "free-threaded" : "ordinary",
                       python.str());
  const auto minor = minor_of(tag.python, "cp");
  if (!minor || *minor < 2) return not_yours(tag.python, python.tag());
  return *minor <= python.minor ? ""
                                : fmt::format("{}-{} needs Python 3.{} or later; yours is 3.{}", tag.python, tag.abi,
                                              *minor, python.minor);
}

std::string wanted(const Environment& here) {
  const Python& p = here.python;
  if (p.implementation == Implementation::kPyPy)
    return fmt::format("{} or py3-none, for {}", p.abi_tag().empty() ? p.tag() : p.abi_tag(), here.platform.str());
  return fmt::format("{}-{}, {} of cp3{} or older, or py3-none, for {}", p.tag(), p.abi_tag(),
                     p.free_threaded ? "abi3t" : "abi3", p.minor, here.platform.str());
}

}  // namespace

std::string python_misfit(const WheelTag& tag, const Python& python) {
  if (tag.abi == "none") return pure_misfit(tag, python);
  if (tag.platform == "any")
    return fmt::format("{} has an ABI but no platform: installers ask for no such tag", tag.str());
  if (tag.abi == "abi3" || tag.abi == "abi3t") return stable_misfit(tag, python);
  if (tag.python != python.tag()) return not_yours(tag.python, python.tag());
  return tag.abi == python.abi_tag() ? ""
                                     : not_yours(tag.abi, python.abi_tag().empty() ? python.str() : python.abi_tag());
}

bool takes(const Environment& here, const WheelTag& tag) {
  return python_misfit(tag, here.python).empty() && platform_misfit(tag.platform, here.platform).empty();
}

TagVerdict judge(std::span<const WheelTag> tags, const Environment& here) {
  // Of a compressed set the tag that fails least speaks, the last of equals: sets are written oldest first.
  TagVerdict best;
  int best_fits = -1;
  for (const WheelTag& tag : tags) {
    const std::string python = python_misfit(tag, here.python), platform = platform_misfit(tag.platform, here.platform);
    if (python.empty() && platform.empty()) return {.fits = true};
    const int fits = python.empty() + platform.empty();
    if (fits < best_fits) continue;
    best_fits = fits;
    best.reason = python.empty()     ? fmt::format("{}; the Python fits", platform)
                  : platform.empty() ? fmt::format("{}; the platform fits", python)
                                     : fmt::format("{}; {}", python, platform);
  }
  best.wanted = wanted(here);
  return best;
}

}  // namespace flashfit::doctor
