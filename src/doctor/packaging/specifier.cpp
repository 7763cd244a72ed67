#include "doctor/packaging/specifier.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"

namespace flashfit::doctor {
namespace {

using Operator = Specifier::Operator;

// Longer ones before those that they begin with.
constexpr std::pair<std::string_view, Operator> kOperators[] = {
    {"===", Operator::kSame},    {"~=", Operator::kCompatible}, {"==", Operator::kEqual},
    {"!=", Operator::kNotEqual}, {"<=", Operator::kLessEqual},  {">=", Operator::kGreaterEqual},
    {"<", Operator::kLess},      {">", Operator::kGreater},
};

// The first version that a release's prefix takes: 3.9 -> 3.9.dev0.
Version first_of(Version v) {
  v.pre.reset();
  v.post.reset();
  v.local.clear();
  v.dev = 0;
  return v;
}

// The first version past everything that begins with `release`: 3.9 -> 3.10.dev0.
Version first_after(const Version& v, std::size_t parts) {
  Version next = first_of(v);
  next.release.resize(parts);
  ++next.release.back();
  return next;
}

bool in_prefix(const Specifier& s, const Version& v) {
  return v >= first_of(s.version) && v < first_after(s.version, s.version.release.size());
}

bool equal(const Specifier& s, const Version& v) {
  if (s.wildcard) return in_prefix(s, v);
  return (s.version.local.empty() ? v.public_part() : v) == s.version;
}

// Before any pre-release of a version that is itself final, and not only before that version.
bool less(const Version& limit, const Version& v) {
  Version bound = limit;
  if (!limit.is_prerelease()) bound.dev = 0;
  return v < bound;
}

// A post-release does not count as greater than its version, nor does a local one.
bool greater(const Version& limit, const Version& v) {
  if (v.public_part() <= limit) return false;
  if (limit.post || limit.dev || !v.post) return true;
  Version base = v.public_part();
  base.post.reset();
  base.dev.reset();
  return base != limit;
}

Result<Specifier> parse_clause(std::string_view clause) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, fmt::format("specifier '{}': {}", printable(clause), why));
  };
  for (const auto& [sign, op] : kOperators) {
    if (!clause.starts_with(sign)) continue;
    Specifier s{.op = op, .version = {}, .text = std::string(clause)};
    std::string_view text = trimmed(clause.substr(sign.size()));
    if (op == Operator::kSame) {
      if (text.find_first_of(" \t\n\r\v\f;)") != std::string_view::npos) return refuse("has a space, ';' or ')' in it");
      s.version.text = text;
      return s;
    }
    if ((op == Operator::kEqual || op == Operator::kNotEqual) && text.ends_with(".*")) {
      s.wildcard = true;
      text.remove_suffix(2);
      if (text != trimmed(text)) return refuse("has a space before '.*'");
    }
    auto version = parse_version(text);
    if (!version) return tl::unexpected(version.error());
    s.version = std::move(*version);
    const bool plain = !s.version.pre && !s.version.post && !s.version.dev && s.version.local.empty();
    if (s.wildcard && !plain) return refuse("'.*' goes with a release alone, such as 3.9.*");
    if (!s.version.local.empty() && op != Operator::kEqual && op != Operator::kNotEqual)
      return refuse("a local version goes with == and != alone");
    if (op == Operator::kCompatible && s.version.release.size() < 2) return refuse("~= needs two numbers, such as 3.9");
    return s;
  }
  return refuse("does not start with one of ~= == != <= >= < > ===");
}

}  // namespace

Result<Specifiers> parse_specifiers(std::string_view text) {
  if (text.size() > kLongestSpecifiers)
    return fail(Code::kInvalidArgument,
                fmt::format("specifier '{}': longer than {} characters", printable(text, 40), kLongestSpecifiers));
  Specifiers clauses;
  for (const std::string_view part : split(text, ',')) {
    if (trimmed(part).empty()) continue;
    auto clause = parse_clause(trimmed(part));
    if (!clause) return tl::unexpected(clause.error());
    clauses.push_back(std::move(*clause));
  }
  return clauses;
}

bool accepts(const Specifier& clause, const Version& version) {
  switch (clause.op) {
    case Operator::kSame:
      return lower(clause.version.text) == lower(version.text);
    case Operator::kEqual:
      return equal(clause, version);
    case Operator::kNotEqual:
      return !equal(clause, version);
    case Operator::kLessEqual:
      return version.public_part() <= clause.version;
    case Operator::kGreaterEqual:
      return version >= clause.version;
    case Operator::kLess:
      return less(clause.version, version);
    case Operator::kGreater:
      return greater(clause.version, version);
    case Operator::kCompatible:
      return version >= clause.version && version < first_after(clause.version, clause.version.release.size() - 1);
  }
  return false;
}

const Specifier* refusing(const Specifiers& clauses, const Version& version) {
  const auto found = std::find_if(clauses.begin(), clauses.end(), [&](const auto& c) { return !accepts(c, version); });
  return found == clauses.end() ? nullptr : &*found;
}

}  // namespace flashfit::doctor
