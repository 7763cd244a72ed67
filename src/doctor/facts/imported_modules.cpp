#include "doctor/facts/imported_modules.hpp"

#include <algorithm>
#include <string_view>

#include "core/base/ascii.hpp"
#include "doctor/bytes/content.hpp"
#include "doctor/packaging/python_module.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {
namespace {

/// Python files together; those of the largest wheels take 40 MB.
constexpr std::uint64_t kMostText = std::uint64_t{64} << 20, kLargestFile = std::uint64_t{4} << 20;

bool promises_other_pythons(const Target& target) {
  const auto name = parse_wheel_name(target.file_name);
  return name && std::any_of(name->tags.begin(), name->tags.end(),
                             [](const WheelTag& tag) { return tag.abi == "abi3" || tag.abi == "none"; });
}

bool is_of_identifier(char c) { return is_alnum(c) || c == '_'; }

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_of_identifier(text[at - 1])) && (end == text.size() || !is_of_identifier(text[end])))
      return true;
  }
  return false;
}

struct Module {
  Binary* binary;
  std::string name;  ///< "_mscclpp"
};

}  // namespace

void find_unnamed_modules(const Source& zip, const std::vector<ZipMember>& members, Target& target) {
  if (!promises_other_pythons(target)) return;
  std::vector<Module> modules;
  for (Binary& binary : target.binaries) {
    const auto module = parse_python_module(binary.path);
    if (module && module->minor >= 0 && (binary.kind == BinaryKind::kElf || binary.kind == BinaryKind::kPe))
      modules.push_back({&binary, std::string(module->stem.substr(module->stem.rfind('/') + 1))});
  }
  std::uint64_t left = kMostText;
  for (const ZipMember& member : members) {
    if (modules.empty()) return;
    if (!member.name.ends_with(".py") && !member.name.ends_with(".pyi")) continue;
    if (member.size > std::min(left, kLargestFile)) return;
    left -= member.size;
    const auto text = MemberContent(zip, member).head(static_cast<std::size_t>(member.size));
    if (!text) return;
    std::erase_if(modules, [&](const Module& module) { return has_word(as_text(*text), module.name); });
  }
  for (const Module& module : modules) module.binary->extension.unnamed = true;
}

}  // namespace flashfit::doctor
