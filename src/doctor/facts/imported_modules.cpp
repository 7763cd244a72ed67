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
constexpr std::uint64_t kMostText = std::uint64_t{64} << 20;
/// What a file counts for at least: to open it takes as long as to read so much.
constexpr std::uint64_t kLeastOfFile = 1024;

bool promises_other_pythons(std::string_view wheel_name) {
  const auto name = parse_wheel_name(wheel_name);
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

}  // namespace

UnnamedModules::UnnamedModules(std::string_view wheel_name)
    : promises_other_pythons_(promises_other_pythons(wheel_name)), left_(kMostText) {}

void UnnamedModules::add(Binary& binary) {
  if (!promises_other_pythons_) return;
  const auto module = parse_python_module(binary.path);
  if (module && module->minor >= 0 && (binary.kind == BinaryKind::kElf || binary.kind == BinaryKind::kPe))
    modules_.push_back({&binary, module->stem.substr(module->stem.rfind('/') + 1)});
}

void UnnamedModules::look_at(std::string_view path, std::uint64_t size,
                             const std::function<std::optional<std::string>()>& read) {
  if (!wants(path)) return;
  const std::uint64_t counts = std::max(size, kLeastOfFile);
  const auto text = size > kLargestPythonFile || counts > left_ ? std::nullopt : read();
  if (!text) return modules_.clear();
  left_ -= counts;
  std::erase_if(modules_, [&](const Module& module) { return has_word(*text, module.name); });
}

void UnnamedModules::mark() const {
  for (const Module& module : modules_) module.binary->extension.unnamed = true;
}

void find_unnamed_modules(const Source& zip, const std::vector<ZipMember>& members, Target& target) {
  UnnamedModules unnamed(target.file_name);
  for (Binary& binary : target.binaries) unnamed.add(binary);
  for (const ZipMember& member : members) {
    if (!unnamed.any()) return;
    unnamed.look_at(member.name, member.size, [&]() -> std::optional<std::string> {
      const auto text = MemberContent(zip, member).head(static_cast<std::size_t>(member.size));
      if (!text) return std::nullopt;
      return std::string(as_text(*text));
    });
  }
  unnamed.mark();
}

}  // namespace flashfit::doctor
