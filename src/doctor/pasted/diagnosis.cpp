#include "doctor/pasted/diagnosis.hpp"

#include <algorithm>

#include "core/base/readable.hpp"
#include "doctor/pasted/red_herrings.hpp"
#include "doctor/pasted/text_template.hpp"

namespace flashfit::doctor::pasted {
namespace {

constexpr std::size_t kLongestShown = 300;

/// The first error is the cause. What programs go on after is none while there are errors, and what comes of others is
/// none while there is anything else.
const Finding* first_cause(const std::vector<Finding>& findings) {
  const auto rank = [](const Finding& finding) {
    return finding.kind->consequence ? 2 : finding.kind->warning ? 1 : 0;
  };
  const auto first = std::min_element(findings.begin(), findings.end(),
                                      [&](const Finding& a, const Finding& b) { return rank(a) < rank(b); });
  return first == findings.end() ? nullptr : &*first;
}

void add_others(const std::vector<Finding>& findings, const Finding& first, Diagnosis& diagnosis) {
  for (const Finding& finding : findings) {
    if (&finding == &first) continue;
    if (finding.kind == first.kind) {
      diagnosis.also_on.push_back(finding.line);
      continue;
    }
    const bool known = std::any_of(diagnosis.others.begin(), diagnosis.others.end(),
                                   [&](const Finding& other) { return other.kind == finding.kind; });
    if (!known) diagnosis.others.push_back(finding);
  }
}

void add_last_exception(const std::vector<Traceback>& tracebacks, Diagnosis& diagnosis) {
  if (tracebacks.empty()) return;
  const Traceback& last = tracebacks.back();
  diagnosis.ends_early = last.line == 0;
  if (last.line == 0) return;
  diagnosis.exception = readable(last.message.empty() ? last.type : last.type + ": " + last.message, kLongestShown);
  diagnosis.exception_line = last.line;
  if (!last.frames.empty()) diagnosis.raised_in = words_of(last.frames.back());
}

}  // namespace

Diagnosis diagnose(std::string_view text) {
  const PastedText pasted = read_pasted(text);
  const std::vector<Traceback> tracebacks = read_tracebacks(pasted);
  const Findings findings = find_errors(pasted);
  Diagnosis diagnosis{.whole = findings.whole, .left_out = pasted.left_out, .cut_lines = pasted.cut_lines};
  diagnosis.named = named_in(pasted, tracebacks, findings.list);
  add_last_exception(tracebacks, diagnosis);
  const Finding* const first = first_cause(findings.list);
  if (first == nullptr) return diagnosis;
  diagnosis.error = *first;
  diagnosis.error.text = readable(first->text, kLongestShown);
  add_others(findings.list, *first, diagnosis);
  diagnosis.herrings = red_herrings(*first, findings.list, tracebacks);
  const ErrorClass& kind = *first->kind;
  diagnosis.concluded.push_back(filled(kind.concluded, first->fields));
  if (std::string unknown = filled(kind.unknown, first->fields); !unknown.empty())
    diagnosis.unknown.push_back(std::move(unknown));
  diagnosis.mend = filled(kind.mend, first->fields);
  return diagnosis;
}

}  // namespace flashfit::doctor::pasted
