#include "doctor/gpu_code/ptx.hpp"

#include <algorithm>
#include <charconv>

namespace flashfit::doctor {
namespace {

constexpr std::size_t kHead = std::size_t{64} << 10;
constexpr std::string_view kSpace = " \t\r\n\v\f";

/// The text behind comments and space.
std::string_view skip_blank(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      const std::size_t end = text.find("*/", 2);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    } else {
      return text;
    }
  }
}

/// The next word: to a space or a comma.
std::string_view next_word(std::string_view& text) {
  text = skip_blank(text);
  const std::string_view word = text.substr(0, text.find_first_of(" \t\r\n,\v\f"));
  text.remove_prefix(word.size());
  return word;
}

bool read_number(std::string_view& text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool read_version(std::string_view word, Ptx& ptx) {
  if (!read_number(word, ptx.isa_major) || !word.starts_with('.')) return false;
  word.remove_prefix(1);
  constexpr int kMost = 99;  // others count in tens: 88 is 8.8
  return read_number(word, ptx.isa_minor) && word.empty() && ptx.isa_major <= kMost && ptx.isa_minor <= kMost;
}

}  // namespace

bool may_be_ptx(Bytes start) {
  constexpr std::string_view kFirst = ".version";
  const std::string_view text = skip_blank(as_text(start));
  return kFirst.starts_with(text.substr(0, kFirst.size())) || text == "/";  // half of what opens a comment
}

bool is_ptx(Bytes text) {
  return skip_blank(as_text(text.first(std::min(text.size(), kHead)))).starts_with(".version");
}

Result<Ptx> read_ptx(Bytes text) {
  const std::string_view head = as_text(text.first(std::min(text.size(), kHead)));
  std::string_view rest = head;
  const auto at = [&] { return head.size() - rest.size(); };
  Ptx ptx;
  if (next_word(rest) != ".version" || !read_version(next_word(rest), ptx)) return malformed("PTX .version", at());
  if (next_word(rest) != ".target") return malformed("PTX .target", at());
  const auto target = parse_gpu_target(next_word(rest));
  if (!target) return malformed("PTX .target", at());
  ptx.target = *target;
  // Options such as texmode_independent may follow the target.
  for (;;) {
    rest = skip_blank(rest);
    if (!rest.starts_with(',')) break;
    rest.remove_prefix(1);
    next_word(rest);
  }
  if (next_word(rest) == ".address_size") {
    std::string_view word = next_word(rest);
    if (!read_number(word, ptx.address_bits) || !word.empty()) return malformed("PTX .address_size", at());
  }
  return ptx;
}

}  // namespace flashfit::doctor
