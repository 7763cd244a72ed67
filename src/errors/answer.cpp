#include "errors/answer.hpp"

#include <algorithm>

#include "errors/text_template.hpp"
#include "inspect/doctor.hpp"
#include "inspect/mend.hpp"
#include "inspect/mends.hpp"
#include "inspect/torch_symbols.hpp"

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
      return;
    }
    if (a.look_for.empty()) a.look_for = report.look_for.empty() ? culprit.problems.front().fix : report.look_for;
  }
  if (a.look_for.empty() && a.cause_found) a.mend = a.diagnosis.mend;
}

/// The command that looks at files.
std::string look_at_files(const Answer& a, const Question& question, const std::string& word) {
  const NamedInText& named = a.diagnosis.named;
  const bool known = !named.site_packages.empty() && inspect::is_plain_path(named.site_packages.front());
  const std::string folder = known ? inspect::shell_word(named.site_packages.front())
                                   : "\"$(python3 -c 'import sysconfig; print(sysconfig.get_path(\"platlib\"))')\"";
  std::string command = "flashfit doctor --error " + word + " " + folder;
  const auto& codes = a.diagnosis.error.kind->explained_by;
  const bool of_gpus = std::find(codes.begin(), codes.end(), "FF101") != codes.end() ||
                       std::find(codes.begin(), codes.end(), "FF103") != codes.end();
  if (of_gpus && question.gpus.empty()) command += " --gpu NAME";
  if (of_gpus && question.driver == 0) command += " --driver VERSION";
  if (!question.torch && inspect::is_torch_symbol(field(a.diagnosis, "symbol"))) command += " --torch " + folder;
  return command;
}

void add_question(Answer& a, const Question& question, const std::string& word) {
  if (a.cause_found || a.diagnosis.error.kind == nullptr) return;
  const ErrorClass& kind = *a.diagnosis.error.kind;
  if (kind.nature == Nature::kOutOfScope) {
    a.ask = a.diagnosis.mend;
  } else if (!kind.ask.empty()) {
    a.ask = filled(kind.ask, a.diagnosis.error.fields);
  } else {
    a.ask = look_at_files(a, question, word);
  }
}

}  // namespace

Answer answer(Diagnosis diagnosis, std::vector<inspect::TargetReport> reports, const Question& question,
              const std::string& word) {
  Answer a;
  a.diagnosis = std::move(diagnosis);
  a.reports = std::move(reports);
  // A wheel's name is what installers go by: it can be judged without the file.
  const std::string wheel = field(a.diagnosis, "wheel");
  if (a.reports.empty() && !wheel.empty() && question.python) {
    a.reports = inspect::examine_names({wheel}, question);
    inspect::add_mends(a.reports, question);
    a.by_name = true;
  }
  a.remarks = remarks(a.diagnosis, question);
  a.evidence = weigh(a.diagnosis, a.reports, question);
  a.files = file_facts(a.diagnosis, a.reports);
  a.cause_found = is_found(a);
  add_mend(a);
  add_question(a, question, word);
  return a;
}

}  // namespace flashfit::errors
