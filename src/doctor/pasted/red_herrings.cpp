#include "doctor/pasted/red_herrings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/readable.hpp"

namespace flashfit::doctor::pasted {
namespace {

constexpr std::size_t kLongest = 160, kNone = static_cast<std::size_t>(-1);

std::size_t first_line(const Traceback& traceback) {
  return traceback.frames.empty() ? traceback.line : traceback.frames.front().line;
}

/// The traceback whose exception is on the line, or whose message goes on there.
std::size_t traceback_at(std::size_t line, const std::vector<Traceback>& tracebacks) {
  std::size_t found = kNone;
  for (std::size_t i = 0; i < tracebacks.size() && first_line(tracebacks[i]) <= line; ++i) found = i;
  if (found == kNone || tracebacks[found].line == 0) return kNone;
  // What a program printed between two tracebacks is of neither.
  constexpr std::size_t kLongestMessage = 40;
  return line < tracebacks[found].line + kLongestMessage ? found : kNone;
}

bool is_known(const Traceback& traceback, const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.line == traceback.line; });
}

std::string words_of(const Traceback& traceback) {
  return readable(traceback.message.empty() ? traceback.type : traceback.type + ": " + traceback.message, kLongest);
}

void add_place(const Traceback& traceback, std::vector<RedHerring>& herrings) {
  if (traceback.frames.empty()) return;
  const Frame& place = traceback.frames.back();
  herrings.push_back({place.code.empty() ? place.line : place.code_line,
                      place.code.empty() ? words_of(place) : readable(place.code, kLongest),
                      fmt::format("{} is where the error was noticed, not where it arose: launches are asynchronous, "
                                  "and the next call that looks reports a failure of any before it",
                                  words_of(place))});
}

void add_exception(const Traceback& traceback, const char* why, std::vector<RedHerring>& herrings) {
  if (traceback.line != 0) herrings.push_back({traceback.line, words_of(traceback), why});
}

}  // namespace

std::string words_of(const Frame& frame) {
  const std::size_t slash = frame.file.find_last_of("/\\");
  std::string words = fmt::format("{}:{}", frame.file.substr(slash == std::string::npos ? 0 : slash + 1), frame.number);
  if (!frame.function.empty()) words += ", in " + frame.function;
  return readable(words, kLongest);
}

std::vector<RedHerring> red_herrings(const Finding& error, const std::vector<Finding>& findings,
                                     const std::vector<Traceback>& tracebacks) {
  std::vector<RedHerring> herrings;
  const std::size_t own = traceback_at(error.line, tracebacks);
  if (own == kNone) return herrings;
  using Link = Traceback::Link;
  for (std::size_t i = own; i > 0 && tracebacks[i].link == Link::kHandling; --i)
    if (!is_known(tracebacks[i - 1], findings))
      add_exception(tracebacks[i - 1], "it had been caught, and was being handled when the error came", herrings);
  // A call that loads code answers for itself, at once.
  if (error.kind->asynchronous && !error.fields.contains("call")) add_place(tracebacks[own], herrings);
  for (std::size_t i = own + 1; i < tracebacks.size() && tracebacks[i].link != Link::kNone; ++i)
    add_exception(tracebacks[i], "a consequence: it was raised because of the error", herrings);
  std::stable_sort(herrings.begin(), herrings.end(),
                   [](const RedHerring& a, const RedHerring& b) { return a.line < b.line; });
  return herrings;
}

}  // namespace flashfit::doctor::pasted
