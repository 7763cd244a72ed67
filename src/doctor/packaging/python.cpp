#include "doctor/packaging/python.hpp"

#include <fmt/format.h>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/packaging/version.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kNewestPlausibleMinor = 99;

// "311" -> "3.11": in tags the major version is one digit.
std::string with_dot(std::string_view digits) {
  if (digits.size() < 2 || digits.find('.') != std::string_view::npos) return std::string(digits);
  return std::string(digits.substr(0, 1)) + "." + std::string(digits.substr(1));
}

}  // namespace

std::string Python::tag() const {
  return fmt::format("{}{}{}", implementation == Implementation::kPyPy ? "pp" : "cp", major, minor);
}

std::string Python::abi_tag() const {
  if (implementation == Implementation::kPyPy) return abi;
  // Up to 3.7 the ABI named pymalloc, which every build had.
  const bool old = major == 3 && minor < 8;
  return tag() + (free_threaded ? "t" : old ? "m" : "");
}

std::string Python::str() const {
  if (implementation == Implementation::kPyPy) return fmt::format("PyPy {}.{}", major, minor);
  return fmt::format("{}CPython {}.{}", free_threaded ? "free-threaded " : "", major, minor);
}

Result<Python> parse_python(std::string_view text) {
  const auto refuse = [&] {
    return fail(
        Code::kInvalidArgument,
        fmt::format("python '{}': accepted: a version such as 3.11 or 3.11.4, 3.13t where it is free-threaded, or "
                    "a tag such as cp311, cp313t or pp310",
                    printable(text, 60)));
  };
  const std::string all = lower(trimmed(text));
  std::string_view rest = all;
  Python python;
  if (rest.starts_with("pypy3") && rest.find("_pp") != std::string_view::npos && is_word(rest)) {
    python.abi = rest;
    rest = rest.substr(0, rest.find('_'));
  }
  for (const std::string_view word : {"cpython", "cp", "pypy", "pp", "python", "py"})
    if (rest.starts_with(word)) {
      if (word.starts_with("pp") || word.starts_with("pypy")) python.implementation = Python::Implementation::kPyPy;
      rest = trimmed(rest.substr(word.size()));
      break;
    }
  if (rest.ends_with('t')) {
    python.free_threaded = true;
    rest.remove_suffix(1);
  }
  const auto version = parse_version(with_dot(rest));
  if (!version || !version->local.empty() || version->epoch != 0 || version->release.size() < 2) return refuse();
  if (version->release[0] != 3 || version->release[1] > kNewestPlausibleMinor) return refuse();
  python.minor = static_cast<int>(version->release[1]);
  python.version = version->text;
  const bool may_be_free = python.implementation == Python::Implementation::kCPython && python.minor >= 13;
  if (python.free_threaded && !may_be_free) return refuse();
  return python;
}

}  // namespace flashfit::doctor
