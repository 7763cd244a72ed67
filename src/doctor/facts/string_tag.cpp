#include "doctor/facts/string_tag.hpp"

#include <algorithm>
#include <array>

#include "core/base/ascii.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::size_t kLongestIdentifier = 1 << 16;
constexpr std::string_view kTag = "B5cxx11";

// Without the tag they are those of the old ABI. Source: the headers of PyTorch 2.0 to 2.13 (torch/csrc/autograd,
// torch/csrc/api, c10, ATen/core), functions that return a std::string or a reference to one.
constexpr auto kReturnsString = std::to_array<std::string_view>({
    "_ZNK5torch8autograd4Node4nameEv",
    "_ZNK5torch2nn6Module4nameEv",
    "_ZNK3c106Device3strEv",
    "_ZNK3c106Symbol12domainStringEv",
    "_ZNK2at10TensorBase8toStringEv",
    "_ZN3c108demangleEPKc",
    "_ZN3c1013get_backtraceEmmb",
});

/// Where the last name of "_ZN[qualifiers]{name}E" or "_Z{name}" ends; npos where other things stand in it.
std::size_t end_of_names(std::string_view mangled) {
  if (!mangled.starts_with("_Z")) return std::string_view::npos;
  std::size_t at = 2;
  const bool nested = at < mangled.size() && mangled[at] == 'N';
  if (nested)
    for (++at; at < mangled.size() && std::string_view("KVrRO").find(mangled[at]) != std::string_view::npos;) ++at;
  std::size_t names = 0;
  while (at < mangled.size() && is_digit(mangled[at]) && (nested || names == 0)) {
    std::size_t length = 0;
    for (; at < mangled.size() && is_digit(mangled[at]) && length < kLongestIdentifier; ++at)
      length = 10 * length + static_cast<std::size_t>(mangled[at] - '0');
    if (length == 0 || length > mangled.size() - at) return std::string_view::npos;
    at += length;
    ++names;
  }
  const std::string_view rest = mangled.substr(at);
  const bool ends = !nested || rest.starts_with('E') || rest.starts_with(std::string(kTag) + "E");
  return names > 0 && ends ? at : std::string_view::npos;
}

}  // namespace

bool is_untagged_string_function(std::string_view mangled) {
  return std::find(kReturnsString.begin(), kReturnsString.end(), mangled) != kReturnsString.end();
}

std::string other_tag_of(std::string_view mangled) {
  const std::size_t end = end_of_names(mangled);
  if (end == std::string_view::npos) return "";
  std::string other(mangled.substr(0, end));
  std::string_view rest = mangled.substr(end);
  if (rest.starts_with(kTag))
    rest.remove_prefix(kTag.size());
  else
    other += kTag;
  return other.append(rest);
}

}  // namespace flashfit::doctor
