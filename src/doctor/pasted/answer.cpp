#include "doctor/pasted/answer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.hpp"
#include "doctor/examine/examine.hpp"
#include "doctor/mends/mend.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/pasted/text_template.hpp"

namespace flashfit::doctor::pasted {
namespace {

std::string field(const Diagnosis& diagnosis, const char* name) {
  const auto found = diagnosis.error.fields.find(name);
  return found == diagnosis.error.fields.end() ? "" : found->second;
}

/// The first misfit among what the text names that makes errors of the kind; of an unknown error any. Null: none.
const NamedFact* named_misfit(const Answer& a) {
  for (const NamedFact& fact : a.named) {
    if (fact.code.empty()) continue;
    if (a.diagnosis.error.kind == nullptr) return &fact;
    const auto& codes = a.diagnosis.error.kind->explained_by;
    if (std::find(codes.begin(), codes.end(), fact.code) != codes.end()) return &fact;
  }
  return nullptr;
}

bool is_found(const Answer& a) {
  if (a.diagnosis.error.kind == nullptr) return false;
  const ErrorClass& kind = *a.diagnosis.error.kind;
  if (!a.evidence.culprits.empty() || a.files.proof || named_misfit(a) != nullptr) return true;
  return kind.proof == Proof::kText && kind.nature != Nature::kOutOfScope && !a.remarks.refuted;
}

/// From the files that explain it, the most likely first; else from the kind, where its cause is certain.
void add_mend(Answer& a) {
  if (!a.files.mend.empty()) {
    a.mend = a.files.mend;
    return;
  }
  for (const Culprit& culprit : a.evidence.culprits) {
    const doctor::TargetReport& report = a.reports[culprit.report];
    if (!report.mend.empty()) {
      a.mend = report.mend;
      a.mend_why = report.mend_why;
      // A wheel with another name may be had for less than compiling one.
      if (!field(a.diagnosis, "wheel").empty()) a.look_for = culprit.problems.front().fix;
      return;
    }
    if (a.look_for.empty()) a.look_for = report.look_for.empty() ? culprit.problems.front().fix : report.look_for;
  }
  if (const NamedFact* const named = named_misfit(a); named != nullptr && a.look_for.empty() && !named->mend.empty()) {
    a.mend = named->mend;
    a.mend_why = "from what the text itself names";
    return;
  }
  if (a.look_for.empty() && a.cause_found) a.mend = a.remarks.mend.empty() ? a.diagnosis.mend : a.remarks.mend;
}

/// Whether the text's own packages are among those that were looked at, or it names none.
bool was_there(const Answer& a, const LookedAt& looked) {
  const auto& named = a.diagnosis.named.site_packages;
  return named.empty() ||
         std::find(looked.folders.begin(), looked.folders.end(), named.front()) != looked.folders.end();
}

/// What the wheel tells of the failures that wait behind this one, as an installer stops at the first. Where its files
/// were not read, so does its name.
void add_next_in_line(Answer& a, const std::string& wheel) {
  const auto& codes = a.diagnosis.error.kind->explained_by;
  // FF222 says of its modules what the name says; the C++ ABI is told without a PyTorch, too.
  const auto is_next = [](const doctor::Problem& p) {
    return p.code != "FF222" && (p.severity == doctor::Severity::kMisfit || p.code == "FF210" || p.code == "FF401");
  };
  for (const doctor::TargetReport& report : a.reports) {
    if (report.target.file_name != wheel) continue;
    for (const doctor::Problem& p : report.problems)
      if (is_next(p) && std::find(codes.begin(), codes.end(), p.code) == codes.end())
        a.files.lines.push_back(fmt::format("next in line waits {}: {}{}", p.code, p.message,
                                            p.fix.empty() ? "" : fmt::format(" (look for: {})", p.fix)));
  }
}

/// The command that looks where the error arose.
std::string look_there(const Answer& a, const LookedAt& looked, const Question& question, const std::string& word) {
  const NamedInText& named = a.diagnosis.named;
  std::string command = "flashfit doctor --error " + word, where;
  const bool seen = !looked.environment.empty() && was_there(a, looked);
  if (seen) {
    command += looked.option;
  } else if (!named.site_packages.empty() && doctor::is_plain_path(named.site_packages.front())) {
    command += " --env " + doctor::shell_word(named.site_packages.front());
  } else if (!looked.environment.empty()) {
    command += " --env PATH";
    where = " (PATH: the environment that the error came from)";
  }
  const auto explained_by = [&](std::string_view code) {
    if (a.diagnosis.error.kind == nullptr) return true;
    const auto& codes = a.diagnosis.error.kind->explained_by;
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  };
  const bool of_gpus = explained_by("FF101") || explained_by("FF103");
  const bool names_gpu = of_gpus && question.gpus.empty(), names_driver = of_gpus && question.driver == 0;
  const bool names_python = !field(a.diagnosis, "wheel").empty() && !question.python;
  if (names_python) command += " --python VERSION";
  if (names_gpu) command += " --gpu NAME";
  if (names_driver) command += " --driver VERSION";
  if (seen && !names_gpu && !names_driver && !names_python)
    return "flashfit doctor --error " + word + " --env PATH (PATH: the environment that the error came from)";
  return command + where;
}

void add_question(Answer& a, const LookedAt& looked, const Question& question, const std::string& word) {
  if (a.cause_found) return;
  if (a.diagnosis.error.kind == nullptr) {
    // Of what is a misfit in any case one knows already.
    if (a.evidence.culprits.empty() && named_misfit(a) == nullptr) a.ask = look_there(a, looked, question, word);
    return;
  }
  const ErrorClass& kind = *a.diagnosis.error.kind;
  if (kind.nature == Nature::kOutOfScope) {
    a.ask = a.diagnosis.mend;
  } else if (!kind.ask.empty()) {
    a.ask = filled(kind.ask, a.diagnosis.error.fields);
  } else {
    a.ask = look_there(a, looked, question, word);
  }
}

}  // namespace

Answer answer(Diagnosis diagnosis, LookedAt looked, const Question& question, const std::string& word) {
  Answer a;
  a.diagnosis = std::move(diagnosis);
  // A wheel's name is what installers go by: it can be judged without the file, and what is installed has no part in
  // it.
  const std::string wheel = field(a.diagnosis, "wheel");
  if (looked.reports.size() == looked.packages && !wheel.empty() && (question.python || a.diagnosis.named.windows)) {
    looked = {.reports = doctor::examine_names({wheel}, question)};
    doctor::add_mends(looked.reports, question);
    a.by_name = true;
  }
  a.reports = std::move(looked.reports);
  a.packages = looked.packages;
  a.environment = looked.environment;
  a.remarks = remarks(a.diagnosis, question);
  a.named = named_facts(a.diagnosis, question);
  a.evidence = weigh(a.diagnosis, a.reports, question);
  a.files = file_facts(a.diagnosis, a.reports);
  if (!wheel.empty() && a.reports.size() > a.packages) add_next_in_line(a, wheel);
  if (a.by_name && a.evidence.culprits.empty() && !a.reports.empty())
    a.files.lines.push_back(
        fmt::format("{}: none of its tags is against what was asked: the text is of another Python or "
                    "system (--python, --platform)",
                    printable(wheel, 200)));
  a.cause_found = is_found(a);
  add_mend(a);
  add_question(a, looked, question, word);
  return a;
}

}  // namespace flashfit::doctor::pasted
