#include "errors/find_errors.hpp"

#include <memory>
#include <ranges>

namespace flashfit::errors {
namespace {

constexpr std::size_t kMostWork = 16U << 20;  // bytes that patterns are tried on
constexpr std::size_t kMostFindings = 4096;   // kept
constexpr std::size_t kFurtherWithin = 40;    // lines: how far a further line of a message may be

struct Known {
  const ErrorClass* kind;
  const Pattern* pattern;
  std::unique_ptr<Regex> regex;  ///< made when it is first needed
};

/// The patterns, and one automaton that tells whether a line has the literal of any.
class Matcher {
 public:
  Matcher() {
    std::string any;
    for (const ErrorClass* kind : error_classes())
      for (const Pattern& pattern : kind->patterns) {
        known_.push_back({kind, &pattern, nullptr});
        any += (any.empty() ? "\\Q" : "|\\Q") + std::string(pattern.literal) + "\\E";
      }
    any_ = std::make_unique<Regex>(any.c_str());
  }

  void take(const Line& line, Findings& findings) {
    if (!any_->finds(line.text, none_)) return;
    if (work_ > kMostWork || findings.list.size() >= kMostFindings) {
      findings.whole = false;
      return;
    }
    bool found = false;
    for (Known& one : known_) {
      if ((found && !one.pattern->further) || line.text.find(one.pattern->literal) == std::string::npos) continue;
      if (one.pattern->further) {
        add_further(one, line, findings);
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

  bool matches(Known& one, const std::string& text, Fields& fields) {
    work_ += text.size();
    if (!one.regex) one.regex = std::make_unique<Regex>(one.pattern->regex);
    return one.regex->finds(text, fields);
  }

  void add_further(Known& one, const Line& line, Findings& findings) {
    for (Finding& finding : findings.list | std::views::reverse) {
      if (line.number - finding.line > kFurtherWithin) return;
      if (finding.kind != one.kind) continue;
      Fields fields;
      if (matches(one, line.text, fields)) finding.fields.merge(fields);  // what is known stays
      return;
    }
  }

  std::vector<Known> known_;
  std::unique_ptr<Regex> any_;
  Fields none_;
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

}  // namespace flashfit::errors
