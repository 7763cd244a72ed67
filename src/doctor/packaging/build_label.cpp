#include "doctor/packaging/build_label.hpp"

#include <fmt/format.h>

#include "core/base/ascii.hpp"

namespace flashfit::doctor {
namespace {

using Number = BuildLabel::Number;

// The digits and dots behind a word: "2.6" of "torch2.6cxx11abi".
std::string_view digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() &&
         (is_digit(text[end]) || (text[end] == '.' && end > at && end + 1 < text.size() && is_digit(text[end + 1]))))
    ++end;
  return text.substr(at, end - at);
}

int value(std::string_view digits) {
  int n = 0;
  for (const char c : digits.substr(0, 4)) n = n * 10 + (c - '0');
  return n;
}

// "2.6" as major and minor. In "124.20240101" the part behind the dot is a date, not a minor.
std::optional<Number> dotted(std::string_view digits) {
  const auto parts = split(digits, '.');
  if (parts.size() < 2 || parts[0].size() > 2) return std::nullopt;
  return Number{value(parts[0]), value(parts[1])};
}

// "124" and "12.4" are 12.4, "12" is 12, "92" is 9.2: CUDA's major has two digits from 10 on.
std::optional<Number> cuda_number(std::string_view digits) {
  if (const auto number = dotted(digits)) return number;
  digits = digits.substr(0, digits.find('.'));
  const int n = value(digits);
  if (digits.size() == 2) return n >= 80 ? Number{n / 10, n % 10} : Number{n};
  if (digits.size() == 3) return Number{n / 10, n % 10};
  return std::nullopt;
}

// torch: "26" is 2.6, and three or four digits end in the patch: "280" is 2.8.0, "2100" is 2.10.0.
// pt (PyG's wheels): no patch, so that "112" is 1.12 and "210" is 2.10.
std::optional<Number> torch_number(std::string_view digits, bool has_patch) {
  if (const auto number = dotted(digits)) return number;
  digits = digits.substr(0, digits.find('.'));
  if (digits.size() < 2 || digits.size() > 4) return std::nullopt;
  if (has_patch && digits.size() > 2) digits.remove_suffix(1);
  return Number{value(digits.substr(0, 1)), value(digits.substr(1))};
}

bool starts_word(std::string_view text, std::size_t at) { return at == 0 || !is_letter(text[at - 1]); }

template <class Read>
void find_number(std::string_view text, std::string_view word, std::optional<Number>& out, Read read) {
  for (std::size_t at = text.find(word); at != std::string_view::npos && !out; at = text.find(word, at + 1)) {
    const std::string_view digits = digits_at(text, at + word.size());
    if (starts_word(text, at) && !digits.empty()) out = read(digits);
  }
}

std::optional<bool> abi_in(std::string_view text) {
  for (const std::string_view word : {"cxx11abi", "cxx11.abi"}) {
    const std::size_t at = text.find(word);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = text.substr(at + word.size());
    return !(rest.starts_with("false") || rest.starts_with('0') || rest.starts_with("off"));
  }
  return std::nullopt;
}

}  // namespace

std::string Number::str() const { return minor < 0 ? fmt::format("{}", major) : fmt::format("{}.{}", major, minor); }

BuildLabel label_of(const WheelName& wheel) {
  BuildLabel label;
  for (const std::string_view text : {std::string_view(wheel.version.local), std::string_view(wheel.name)}) {
    for (const std::string_view word : {"cuda", "cu"}) find_number(text, word, label.cuda, cuda_number);
    find_number(text, "torch", label.torch, [](auto digits) { return torch_number(digits, true); });
    find_number(text, "pt", label.torch, [](auto digits) { return torch_number(digits, false); });
    if (!label.cxx11_abi) label.cxx11_abi = abi_in(text);
    label.torch_or_newer |= text.find("andhigher") != std::string_view::npos;
  }
  const std::string_view local = wheel.version.local;
  for (const std::string_view part : split(local, '.')) label.cpu |= part == "cpu";
  for (const std::string_view word : {"rocm", "xpu", "hip"})
    if (label.other_accelerator.empty() && local.starts_with(word)) label.other_accelerator = word;
  return label;
}

}  // namespace flashfit::doctor
