#include "doctor/binaries/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "core/base/printable.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::size_t kLongestName = 2048, kMostUnfolded = std::size_t{1} << 22;

/// No shorter than what the name unfolds to. Each part that is referred to stands in the text once and refers only to
/// parts before it, so putting it in for its references, the last part first, makes the text at most
/// (1 + number of references) times as long.
std::size_t unfolded_at_most(std::string_view name) {
  std::map<std::string_view, std::size_t> references;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != 'S' && name[i] != 'T') continue;
    const std::size_t end = name.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", i + 1);
    if (end != std::string_view::npos && name[end] == '_') ++references[name.substr(i, end - i)];
  }
  std::size_t size = name.size();
  for (const auto& [reference, count] : references) {
    size *= 1 + count;
    if (size > kMostUnfolded) break;
  }
  return size;
}

/// std::string as people write it; the new ABI's keeps the namespace that tells it from the old.
std::string with_short_strings(std::string text) {
  constexpr std::string_view kLong = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  constexpr std::string_view kShort = "std::__cxx11::string";
  for (std::size_t at = text.find(kLong); at != std::string::npos; at = text.find(kLong, at + kShort.size()))
    text.replace(at, kLong.size(), kShort);
  return text;
}

struct Free {
  void operator()(char* text) const { std::free(text); }  // NOLINT(*-no-malloc): as the demangler asks for
};

}  // namespace

std::string demangled(std::string_view name, std::size_t limit) {
  if (!name.starts_with("_Z") || name.size() > kLongestName || unfolded_at_most(name) > kMostUnfolded)
    return printable(name, limit);
  int status = 0;
  const std::unique_ptr<char, Free> text(abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status));
  return printable(status == 0 && text ? with_short_strings(text.get()) : std::string(name), limit);
}

}  // namespace flashfit::doctor
