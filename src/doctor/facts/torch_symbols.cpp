#include "doctor/facts/torch_symbols.hpp"

#include <algorithm>
#include <array>

#include "core/base/ascii.hpp"
#include "doctor/facts/string_tag.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::size_t kLongestIdentifier = 1 << 16;

/// Walks a mangled name token by token, so that what identifiers spell is not taken for the grammar's letters.
class Walk {
 public:
  explicit Walk(std::string_view name) : name_(name) {}

  bool done() const { return at_ >= name_.size(); }
  char peek() const { return name_[at_]; }
  std::string_view rest() const { return name_.substr(at_); }
  void skip(std::size_t count) { at_ = std::min(at_ + count, name_.size()); }
  /// Past the first `end` from here on.
  void skip_through(char end) { at_ = std::min(name_.find(end, at_), name_.size() - 1) + 1; }

  /// "3c10" -> "c10". The value of a literal ("E1E") is none, and gives "".
  std::string_view identifier() {
    const bool behind_type = at_ > 0 && name_[at_ - 1] == 'E';
    std::size_t length = 0;
    while (!done() && is_digit(peek()) && length < kLongestIdentifier)
      length = 10 * length + static_cast<std::size_t>(name_[at_++] - '0');
    if (done() || (behind_type && peek() == 'E')) return {};
    const std::string_view text = name_.substr(at_, length);
    skip(length);
    return text;
  }

 private:
  std::string_view name_;
  std::size_t at_ = 0;
};

bool is_reference(std::string_view rest) {
  return rest.size() > 1 && (rest[1] == '_' || is_digit(rest[1]) || (rest[1] >= 'A' && rest[1] <= 'Z'));
}

}  // namespace

const char* name_of(TorchAbi abi) {
  switch (abi) {
    case TorchAbi::kNone:
      return "none";
    case TorchAbi::kStable:
      return "stable";
    case TorchAbi::kPreCxx11:
      return "pre-cxx11";
    case TorchAbi::kCxx11:
      return "cxx11";
    case TorchAbi::kEither:
      return "either";
  }
  return "none";
}

bool is_torch_symbol(std::string_view mangled) {
  if (!mangled.starts_with("_Z")) return false;
  mangled.remove_prefix(2);
  for (const std::string_view special : {"TV", "TI", "TS", "TT", "GV", "TW", "TH"})
    if (mangled.starts_with(special)) {
      mangled.remove_prefix(special.size());
      break;
    }
  if (mangled.starts_with('N')) mangled.remove_prefix(1);
  while (!mangled.empty() && std::string_view("KVrRO").find(mangled.front()) != std::string_view::npos)
    mangled.remove_prefix(1);
  constexpr std::array<std::string_view, 4> kNamespaces = {"2at", "3c10", "5torch", "6caffe2"};
  return std::any_of(kNamespaces.begin(), kNamespaces.end(), [&](auto n) { return mangled.starts_with(n); });
}

bool is_torch_python_symbol(std::string_view name) {
  if (name.starts_with("_Z")) {
    const std::size_t begin = std::min(name.find_first_not_of("0123456789", 2), name.size());
    if (begin == 2) return false;
    name.remove_prefix(begin);
  }
  return name.starts_with("THP");
}

bool is_stable_torch_symbol(std::string_view name) {
  // Source: torch/csrc/stable/c/shim.h and torch/csrc/inductor/aoti_torch/c/shim.h, up to 2.13.
  constexpr auto kPrefixes = std::to_array<std::string_view>(
      {"aoti_torch_", "torch_c10_", "torch_call_dispatcher", "torch_cuda_stream_", "torch_delete_", "torch_dtype_",
       "torch_exception_", "torch_from_blob", "torch_get_", "torch_library_", "torch_list_", "torch_new_",
       "torch_parallel_for", "torch_parse_device_string", "torch_set_", "torch_stream_", "torch_string_",
       "torch_tag_"});
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](auto p) { return name.starts_with(p); });
}

TorchAbi string_abi_of(std::string_view mangled) {
  TorchAbi abi = TorchAbi::kEither;
  if (!mangled.starts_with("_Z")) return abi;
  if (is_untagged_string_function(mangled)) return TorchAbi::kPreCxx11;
  for (Walk walk(mangled.substr(2)); !walk.done();) {
    const char c = walk.peek();
    const std::string_view rest = walk.rest();
    if (is_digit(c)) {
      // The ABI's tag is "B5cxx11".
      if (const std::string_view name = walk.identifier(); name == "__cxx11" || name == "cxx11")
        return TorchAbi::kCxx11;
    } else if (rest.starts_with("Ss")) {
      abi = TorchAbi::kPreCxx11;
      walk.skip(2);
    } else if (c == 'S' && !is_reference(rest)) {
      walk.skip(2);
    } else if (c == 'S' || (c == 'T' && rest.size() > 1 && (rest[1] == '_' || is_digit(rest[1])))) {
      walk.skip_through('_');
    } else if (c == 'L' && rest.size() > 1 && rest[1] >= 'a' && rest[1] <= 'z') {
      walk.skip_through('E');  // a literal of a type of the language's own
    } else {
      walk.skip(1);
    }
  }
  return abi;
}

}  // namespace flashfit::doctor
