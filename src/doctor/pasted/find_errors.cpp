#include "doctor/pasted/find_errors.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <ranges>

namespace flashfit::doctor::pasted {
namespace {

constexpr std::size_t kMostWork = 16U << 20;  // bytes that patterns are tried on
constexpr std::size_t kMostFindings = 4096;   // kept
constexpr std::size_t kFurtherWithin = 40;    // lines: how far a further line of a message may be

struct Known {
  Known(const ErrorClass* its_kind, const Pattern* its_pattern) : kind(its_kind), pattern(its_pattern) {}
  const ErrorClass* kind;
  const Pattern* pattern;

  const Regex& regex() const {
    std::call_once(once_, [this] { regex_ = std::make_unique<Regex>(pattern->regex); });
    return *regex_;
  }

 private:
  mutable std::once_flag once_;
  mutable std::unique_ptr<Regex> regex_;  ///< made when it is first needed
};

std::deque<Known> all_patterns() {
  std::deque<Known> all;
  for (const ErrorClass* kind : error_classes())
    for (const Pattern& pattern : kind->patterns) all.emplace_back(kind, &pattern);
  return all;
}

std::vector<std::string_view> literals_of(const std::deque<Known>& patterns) {
  std::vector<std::string_view> literals;
  for (const Known& one : patterns) literals.push_back(one.pattern->literal);
  return literals;
}

/// Made once for all texts.
struct KnownPatterns {
  std::deque<Known> all = all_patterns();
  Words literals{literals_of(all)};
};

const KnownPatterns& known_patterns() {
  static const KnownPatterns kPatterns;
  return kPatterns;
}

/// One text.
class Matcher {
 public:
  void take(const Line& line, Findings& findings) {
    if (!patterns_.literals.any_in(line.text)) return;
    if (work_ > kMostWork || findings.list.size() >= kMostFindings) {
      findings.whole = false;
      return;
    }
    bool found = false;
    for (const std::size_t number : patterns_.literals.in(line.text)) {
      const Known& one = patterns_.all[number];
      if (found && !one.pattern->further) continue;
      if (one.pattern->further) {
        found = add_further(one, line, findings) || found;
        continue;
      }
      Fields fields;
      if (!matches(one, line.text, fields)) continue;
      found = true;
      if (!goes_on(*one.kind, line, fields, findings.list))
        findings.list.push_back({one.kind, line.number, line.text, std::move(fields)});
    }
  }

 private:
  /// One message over several lines that each would do: what a further one adds is added to the first.
  static bool goes_on(const ErrorClass& kind, const Line& line, Fields& fields, std::vector<Finding>& list) {
    constexpr std::size_t kWithin = 3;
    if (list.empty() || list.back().kind != &kind || line.number - list.back().line > kWithin) return false;
    for (const auto& [name, value] : fields)
      if (list.back().fields.contains(name)) return false;
    list.back().fields.merge(fields);
    return true;
  }

  bool matches(const Known& one, const std::string& text, Fields& fields) {
    work_ += text.size();
    return one.regex().finds(text, fields);
  }

  /// Whether the line goes on with a message that was found before it.
  bool add_further(const Known& one, const Line& line, Findings& findings) {
    for (Finding& finding : findings.list | std::views::reverse) {
      if (line.number - finding.line > kFurtherWithin) return false;
      if (finding.kind != one.kind) continue;
      Fields fields;
      if (!matches(one, line.text, fields)) return false;
      finding.fields.merge(fields);  // what is known stays
      return true;
    }
    return false;
  }

  const KnownPatterns& patterns_ = known_patterns();
  std::size_t work_ = 0;
};

}  // namespace

Findings find_errors(const PastedText& text) {
  Matcher matcher;
  Findings findings;
  for (const Line& line : text.lines) matcher.take(line, findings);
  for (Finding& finding : findings.list) derive_fields(finding.fields);
  return findings;
}

}  // namespace flashfit::doctor::pasted
