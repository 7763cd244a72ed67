#include "errors/answer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "errors/text_template.hpp"
#include "inspect/doctor.hpp"
#include "inspect/mend.hpp"
#include "inspect/mends.hpp"

namespace flashfit::errors {
namespace {

using inspect::Question;

std::string field(const Diagnosis& diagnosis, const char* name) {
  const auto found = diagnosis.error.fields.find(name);
  return found == diagnosis.error.fields.end() ? "" : found->second;
}

bool is_found(const Answer& a) {
  if (a.diagnosis.error.kind == nullptr) return false;
  const ErrorClass& kind = *a.diagnosis.error.kind;
  if (!a.evidence.culprits.empty() || a.files.proof) return true;
  return kind.proof == Proof::kText && kind.nature != Nature::kOutOfScope && !a.remarks.refuted;
}

/// From the files that explain it, the most likely first; else from the kind, where its cause is certain.
void add_mend(Answer& a) {
  if (!a.files.mend.empty()) {
    a.mend = a.files.mend;
    return;
  }
  for (const Culprit& culprit : a.evidence.culprits) {
    const inspect::TargetReport& report = a.reports[culprit.report];
    if (!report.mend.empty()) {
      a.mend = report.mend;
      a.mend_why = report.mend_why;
      // A wheel with another name may be had for less than compiling one.
      if (!field(a.diagnosis, "wheel").empty()) a.look_for = culprit.problems.front().fix;
      return;
    }
    if (a.look_for.empty()) a.look_for = report.look_for.empty() ? culprit.problems.front().fix : report.look_for;
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
  const auto is_next = [](const inspect::Problem& p) {
    return p.code != "FF222" && (p.severity == inspect::Severity::kMisfit || p.code == "FF210" || p.code == "FF401");
  };
  for (const inspect::TargetReport& report : a.reports) {
    if (report.target.file_name != wheel) continue;
    for (const inspect::Problem& p : report.problems)
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
  } else if (!named.site_packages.empty() && inspect::is_plain_path(named.site_packages.front())) {
    command += " --env " + inspect::shell_word(named.site_packages.front());
  } else if (!looked.environment.empty()) {
    command += " --env PATH";
    where = " (PATH: the environment that the error came from)";
  }
  const auto& codes = a.diagnosis.error.kind->explained_by;
  const bool of_gpus = std::find(codes.begin(), codes.end(), "FF101") != codes.end() ||
                       std::find(codes.begin(), codes.end(), "FF103") != codes.end();
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
  if (a.cause_found || a.diagnosis.error.kind == nullptr) return;
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
  if (looked.reports.size() == looked.packages && !wheel.empty() && question.python) {
    looked = {.reports = inspect::examine_names({wheel}, question)};
    inspect::add_mends(looked.reports, question);
    a.by_name = true;
  }
  a.reports = std::move(looked.reports);
  a.packages = looked.packages;
  a.environment = looked.environment;
  a.remarks = remarks(a.diagnosis, question);
  a.evidence = weigh(a.diagnosis, a.reports, question);
  a.files = file_facts(a.diagnosis, a.reports);
  if (!wheel.empty() && a.reports.size() > a.packages) add_next_in_line(a, wheel);
  a.cause_found = is_found(a);
  add_mend(a);
  add_question(a, looked, question, word);
  return a;
}

}  // namespace flashfit::errors
