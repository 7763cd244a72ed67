#include "doctor/packaging/version.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"

namespace flashfit::doctor {
namespace {

constexpr bool is_separator(char c) { return c == '.' || c == '-' || c == '_'; }

/// Reads a version from the left; every step takes what it can and never goes back.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool too_large() const { return too_large_; }

  bool take(char c) {
    if (rest_.empty() || to_lower(rest_.front()) != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<std::uint64_t> number() {
    std::size_t digits = 0;
    while (digits < rest_.size() && is_digit(rest_[digits])) ++digits;
    if (digits == 0) return std::nullopt;
    std::string_view text = rest_.substr(0, digits);
    rest_.remove_prefix(digits);
    while (text.size() > 1 && text.front() == '0') text.remove_prefix(1);
    too_large_ |= text.size() > 18;
    std::uint64_t value = 0;
    for (const char c : text.substr(0, 18)) value = value * 10 + static_cast<std::uint64_t>(c - '0');
    return value;
  }

  /// The release: numbers with dots between; a dot that no number follows is left.
  std::vector<std::uint64_t> release() {
    std::vector<std::uint64_t> numbers;
    while (const auto n = number()) {
      numbers.push_back(*n);
      if (rest_.size() < 2 || rest_[0] != '.' || !is_digit(rest_[1])) break;
      rest_.remove_prefix(1);
    }
    return numbers;
  }

  /// [separator] word [separator] [number]; 0 where there is no number.
  std::optional<std::uint64_t> labelled(std::string_view word) {
    const std::size_t skip = !rest_.empty() && is_separator(rest_.front());
    if (lower(rest_.substr(skip, word.size())) != word) return std::nullopt;
    rest_.remove_prefix(skip + word.size());
    if (!rest_.empty() && is_separator(rest_.front())) rest_.remove_prefix(1);
    return number().value_or(0);
  }

  /// The short form of a post-release: "-1".
  std::optional<std::uint64_t> dashed() {
    if (rest_.size() < 2 || rest_[0] != '-' || !is_digit(rest_[1])) return std::nullopt;
    rest_.remove_prefix(1);
    return number();
  }

  /// All that is left, if it is a local version: letters and digits, single separators between.
  std::optional<std::string> local() {
    std::string out;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const bool between = i > 0 && i + 1 < rest_.size() && is_alnum(rest_[i - 1]);
      if (!is_alnum(rest_[i]) && !(is_separator(rest_[i]) && between)) return std::nullopt;
      out += is_separator(rest_[i]) ? '.' : to_lower(rest_[i]);
    }
    rest_ = {};
    return out.empty() ? std::nullopt : std::optional(out);
  }

 private:
  std::string_view rest_;
  bool too_large_ = false;
};

// Longer words before those that they begin with.
constexpr std::pair<std::string_view, Version::Phase> kPhases[] = {
    {"alpha", Version::Phase::kAlpha}, {"a", Version::Phase::kAlpha},           {"beta", Version::Phase::kBeta},
    {"b", Version::Phase::kBeta},      {"preview", Version::Phase::kCandidate}, {"pre", Version::Phase::kCandidate},
    {"c", Version::Phase::kCandidate}, {"rc", Version::Phase::kCandidate},
};

std::strong_ordering compare_numbers(std::string_view a, std::string_view b) {
  for (std::string_view* s : {&a, &b})
    while (s->size() > 1 && s->front() == '0') s->remove_prefix(1);
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

// Part by part: numbers by value and above words, the longer one above its beginning, any above none.
std::strong_ordering compare_locals(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.size() <=> b.size();
  const auto left = split(a, '.'), right = split(b, '.');
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    const bool number = std::all_of(left[i].begin(), left[i].end(), is_digit),
               other_number = std::all_of(right[i].begin(), right[i].end(), is_digit);
    const auto order = number != other_number ? number <=> other_number
                       : number               ? compare_numbers(left[i], right[i])
                                              : left[i] <=> right[i];
    if (order != 0) return order;
  }
  return left.size() <=> right.size();
}

// Where a version without a pre-release stands among those with one: a development release alone comes before all.
int phase_rank(const Version& v) {
  if (v.pre) return static_cast<int>(v.pre->phase);
  return v.dev && !v.post ? -1 : 3;
}

std::strong_ordering compare_releases(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const auto order = (i < a.size() ? a[i] : 0) <=> (i < b.size() ? b[i] : 0);
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

}  // namespace

Version Version::public_part() const {
  Version v = *this;
  v.local.clear();
  return v;
}

std::strong_ordering Version::operator<=>(const Version& other) const {
  if (const auto order = epoch <=> other.epoch; order != 0) return order;
  if (const auto order = compare_releases(release, other.release); order != 0) return order;
  if (const auto order = phase_rank(*this) <=> phase_rank(other); order != 0) return order;
  if (pre && other.pre && pre->number != other.pre->number) return pre->number <=> other.pre->number;
  if (const auto order = post <=> other.post; order != 0) return order;                            // none before any
  if (dev.has_value() != other.dev.has_value()) return other.dev.has_value() <=> dev.has_value();  // none after any
  if (const auto order = dev <=> other.dev; order != 0) return order;
  return compare_locals(local, other.local);
}

Result<Version> parse_version(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, fmt::format("version '{}': {}", printable(text), why));
  };
  if (text.size() > kLongestVersion) return refuse(fmt::format("longer than {} characters", kLongestVersion));

  Version v;
  v.text = trimmed(text);
  Reader in(v.text);
  in.take('v');
  v.release = in.release();
  if (v.release.size() == 1 && in.take('!')) {
    v.epoch = v.release.front();
    v.release = in.release();
  }
  if (v.release.empty()) return refuse("does not start with a number");
  for (const auto& [word, phase] : kPhases)
    if (const auto number = in.labelled(word)) {
      v.pre = Version::Pre{phase, *number};
      break;
    }
  v.post = in.dashed();
  for (const std::string_view word : {"post", "rev", "r"})
    if (!v.post) v.post = in.labelled(word);
  v.dev = in.labelled("dev");
  if (in.take('+')) {
    const auto local = in.local();
    if (!local) return refuse("the part after '+' must be letters and digits with single '.', '-' or '_' between");
    v.local = *local;
  }
  if (in.too_large()) return refuse("a number of more than 18 digits");
  if (!in.done()) return refuse("is not a version such as 2.8.3, 1.0rc1 or 2.6.0+cu124");
  return v;
}

}  // namespace flashfit::doctor
