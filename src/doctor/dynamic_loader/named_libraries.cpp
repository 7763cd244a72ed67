#include "doctor/dynamic_loader/named_libraries.hpp"

#include <algorithm>

#include "core/base/ascii.hpp"
#include "doctor/binaries/elf.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20, kChunk = std::uint64_t{1} << 20;
constexpr std::size_t kLongestName = 128, kMostNames = 256;
constexpr std::string_view kMark = ".so.";

bool is_of_a_name(char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '+'; }

/// "libNAME.so.N": NAME of a file, N of numbers and dots.
bool is_library(std::string_view text) {
  const std::size_t mark = text.find(kMark);
  if (!text.starts_with("lib") || mark == std::string_view::npos || mark <= 3) return false;
  const std::string_view number = text.substr(mark + kMark.size());
  return is_digit(number.empty() ? ' ' : number.back()) && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), is_of_a_name) &&
         std::all_of(number.begin(), number.end(), [](char c) { return c == '.' || is_digit(c); });
}

/// Adds the names whose mark lies in [begin, end) of `bytes`.
void find_in(std::string_view bytes, std::size_t begin, std::size_t end, std::vector<std::string>& names) {
  for (std::size_t at = begin; (at = bytes.find(kMark, at)) < end; ++at) {
    const std::size_t before = bytes.rfind('\0', at), after = bytes.find('\0', at);
    if (after == std::string_view::npos) continue;
    const std::size_t first = before == std::string_view::npos ? 0 : before + 1;
    // A far-off end is no name's.
    if (after - first > kLongestName) continue;
    const std::string_view text = bytes.substr(first, after - first);
    if (is_library(text) && std::find(names.begin(), names.end(), text) == names.end()) names.emplace_back(text);
    if (names.size() == kMostNames) return;
  }
}

}  // namespace

std::vector<std::string> find_named_libraries(const doctor::Source& source) {
  std::vector<std::string> names;
  const auto elf = doctor::read_elf(source);
  if (!elf) return names;
  const doctor::ElfSection* const texts = elf->find(".rodata");
  if (texts == nullptr || texts->type == doctor::kSectionNoBits) return names;
  const std::uint64_t size = std::min(texts->size, kMostBytes);
  // Chunks overlap by a name's length on both sides, so that each name lies whole in that which has its mark.
  for (std::uint64_t at = 0; at < size && names.size() < kMostNames; at += kChunk) {
    const std::uint64_t begin = at - std::min<std::uint64_t>(at, kLongestName + 1);
    const std::uint64_t end = std::min(size, at + kChunk + kLongestName + 1);
    const auto bytes = doctor::read_part(source, texts->offset + begin, end - begin, 2 * kChunk, "texts");
    if (!bytes) return names;
    const std::uint64_t stop = std::min(size, at + kChunk);
    find_in(doctor::as_text(*bytes), static_cast<std::size_t>(at - begin), static_cast<std::size_t>(stop - begin),
            names);
  }
  return names;
}

}  // namespace flashfit::doctor::dynamic_loader
