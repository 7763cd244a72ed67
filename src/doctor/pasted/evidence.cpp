#include "doctor/pasted/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/base/ascii.hpp"
#include "doctor/pasted/text_template.hpp"

namespace flashfit::doctor::pasted {
namespace {

std::string base_of(std::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

/// The file that the loader named. Many packages have a _C.so, so that its folders count where they can.
class NamedFile {
 public:
  NamedFile() = default;
  /// Of no file where no report has it.
  NamedFile(const Diagnosis& diagnosis, const std::vector<TargetReport>& reports) {
    const auto field = diagnosis.error.fields.find("file");
    if (field == diagnosis.error.fields.end()) return;
    path_ = field->second;
    std::replace(path_.begin(), path_.end(), '\\', '/');
    const auto is_there = [&] {
      return std::any_of(reports.begin(), reports.end(), [&](const TargetReport& r) { return is_in(r); });
    };
    if (is_there()) return;
    with_folders_ = false;
    if (!is_there()) path_.clear();
  }

  bool known() const { return !path_.empty(); }

  bool is(const std::string& path) const {
    if (!known() || path.empty()) return false;
    if (!with_folders_) return base_of(path) == base_of(path_);
    const auto& [shorter, longer] =
        std::minmax(path, path_, [](const auto& a, const auto& b) { return a.size() < b.size(); });
    return longer.ends_with(shorter) &&
           (longer.size() == shorter.size() || longer[longer.size() - shorter.size() - 1] == '/');
  }

  bool is_in(const TargetReport& report) const {
    if (is(report.target.target) || is(report.target.file_name)) return true;
    return std::any_of(report.target.binaries.begin(), report.target.binaries.end(),
                       [&](const auto& binary) { return is(binary.path); });
  }

 private:
  std::string path_;
  bool with_folders_ = true;
};

bool is_about_gpu_code(const ErrorClass& kind) {
  return std::find(kind.explained_by.begin(), kind.explained_by.end(), "FF101") != kind.explained_by.end();
}

bool has_gpu_code(const TargetReport& report) {
  return std::any_of(report.target.binaries.begin(), report.target.binaries.end(),
                     [](const auto& binary) { return !binary.containers.empty(); });
}

/// What the text itself says that the error is about.
struct About {
  NamedFile file;
  std::string subject;  ///< lower case
};

/// Rules that name what is missing, refused or mixed.
bool names_things(const std::string& code) {
  return code == "FF330" || code.starts_with("FF6") || code.starts_with("FF7");
}

bool speaks_of(const Problem& problem, const TargetReport& report, const std::string& subject) {
  return lower(problem.message + " " + problem.member + " " + report.target.target).find(subject) != std::string::npos;
}

/// A problem that makes the error: of a kind that does, about the file and the thing that the text names, and no mere
/// note, unless the text names what the note is about.
bool explains(const Problem& problem, const TargetReport& report, const ErrorClass& kind, const About& about) {
  if (std::find(kind.explained_by.begin(), kind.explained_by.end(), problem.code) == kind.explained_by.end())
    return false;
  // A PyTorch for the CPU alone launches no kernel: what has failed on the GPU is another's.
  if (problem.code == "FF704" && problem.severity == Severity::kDegrades && is_about_gpu_code(kind)) return false;
  const bool same_file = about.file.is(problem.member);
  // What is said of a package as a whole is said of its files.
  if (about.file.known() && !(problem.member.empty() ? about.file.is_in(report) : same_file)) return false;
  const bool by_name = !about.subject.empty() && names_things(problem.code);
  if (by_name && !speaks_of(problem, report, about.subject)) return false;
  return problem.severity != Severity::kNote || (names_things(problem.code) && (by_name || same_file));
}

/// Letters alone, without what names of modules have in common: "flash_attn_2_cuda" is "flash" and "attn".
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (is_letter(c)) {
      words.back() += to_lower(c);
    } else {
      words.emplace_back();
    }
  }
  static constexpr std::string_view kCommon[] = {"cuda", "ext", "kernel", "kernels", "lib", "ops", "torch"};
  std::erase_if(words, [](const std::string& word) {
    return word.size() < 3 || std::find(std::begin(kCommon), std::end(kCommon), word) != std::end(kCommon);
  });
  return words;
}

std::string letters_and_digits(std::string_view text) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept), is_alnum);
  return lower(kept);
}

/// Whether the text's frames lie in the target: "torchvision==0.23.0", with torchvision/ops/boxes.py among them.
bool is_in_frames(const TargetReport& report, const Diagnosis& diagnosis) {
  const std::string name = lower(report.target.target.substr(0, report.target.target.find("==")));
  return std::any_of(diagnosis.named.packages.begin(), diagnosis.named.packages.end(),
                     [&](const std::string& package) { return lower(package) == name; });
}

/// Where a module is absent, packages of an environment that have nothing to do with it: what is wrong with them does
/// not explain it. Related are those with a word of its name, those that the kind of error names, and those in the
/// frames.
bool is_unrelated(const TargetReport& report, const Diagnosis& diagnosis, const About& about) {
  const ErrorClass& kind = *diagnosis.error.kind;
  const std::size_t name_end = report.target.target.find("==");
  if (kind.code != "FF817" || name_end == std::string::npos || is_in_frames(report, diagnosis)) return false;
  const std::vector<std::string> words = words_of(about.subject);
  if (words.empty()) return false;
  std::string theirs = letters_and_digits(report.target.target.substr(0, name_end));
  const std::string said =
      letters_and_digits(fmt::format("{} {} {} {}", kind.title, kind.concluded, kind.unknown, kind.ask));
  if (said.find(theirs) != std::string::npos) return false;
  for (const auto& binary : report.target.binaries) theirs += lower(binary.path);
  return std::none_of(words.begin(), words.end(),
                      [&](const std::string& word) { return theirs.find(word) != std::string::npos; });
}

/// Whether the report can clear its target of the error.
bool can_tell(const TargetReport& report, const ErrorClass& kind, const doctor::Question& question) {
  if (report.verdict == doctor::Verdict::kUnknown || !report.target.errors.empty()) return false;
  return !is_about_gpu_code(kind) || (has_gpu_code(report) && !question.gpus.empty());
}

/// Whether the text itself says that this very file was refused: by the installer, or by the loader. What the rules
/// have nothing against is then no proof that it is innocent, as another machine or another PyTorch may be asked.
bool is_refused_in_text(const TargetReport& report, const Diagnosis& diagnosis, const About& about) {
  const auto wheel = diagnosis.error.fields.find("wheel");
  if (wheel != diagnosis.error.fields.end() && base_of(report.target.target) == base_of(wheel->second)) return true;
  return about.file.known() && about.file.is_in(report);
}

/// Of an unknown error: nobody is cleared of it, and what is a misfit in any case is worth knowing, what the frames lie
/// in first.
Evidence weigh_unknown(const Diagnosis& diagnosis, const std::vector<TargetReport>& reports) {
  Evidence evidence;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    Culprit culprit{i, {}};
    for (const Problem& problem : reports[i].problems)
      if (problem.severity == Severity::kMisfit || problem.severity == Severity::kHost)
        culprit.problems.push_back(problem);
    if (culprit.problems.empty()) {
      evidence.silent.push_back(i);
    } else {
      evidence.culprits.push_back(std::move(culprit));
    }
  }
  std::stable_partition(evidence.culprits.begin(), evidence.culprits.end(),
                        [&](const Culprit& culprit) { return is_in_frames(reports[culprit.report], diagnosis); });
  return evidence;
}

}  // namespace

Evidence weigh(const Diagnosis& diagnosis, const std::vector<TargetReport>& reports, const doctor::Question& question) {
  if (diagnosis.error.kind == nullptr) return weigh_unknown(diagnosis, reports);
  Evidence evidence;
  const ErrorClass& kind = *diagnosis.error.kind;
  // The file that the loader names decides where it is among the targets; sources of a launch name no library.
  const About about{.file = is_about_gpu_code(kind) ? NamedFile() : NamedFile(diagnosis, reports),
                    .subject = lower(filled(kind.subject, diagnosis.error.fields))};
  std::vector<std::size_t> blameless;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    Culprit culprit{i, {}};
    for (const Problem& problem : reports[i].problems)
      if (explains(problem, reports[i], kind, about)) culprit.problems.push_back(problem);
    if (culprit.problems.empty()) {
      blameless.push_back(i);
    } else if (is_unrelated(reports[i], diagnosis, about)) {
      evidence.silent.push_back(i);  // neither blamed nor cleared: a module's name need not tell its package
    } else {
      evidence.culprits.push_back(std::move(culprit));
    }
  }
  for (const std::size_t i : blameless) {
    // Of several files of that name another one was refused, where that has a reason.
    const bool refused = evidence.culprits.empty() && is_refused_in_text(reports[i], diagnosis, about);
    (can_tell(reports[i], kind, question) && !refused ? evidence.cleared : evidence.silent).push_back(i);
  }
  // What lacks all of its code goes before what lacks some.
  std::stable_sort(evidence.culprits.begin(), evidence.culprits.end(), [](const Culprit& a, const Culprit& b) {
    return a.problems.front().severity > b.problems.front().severity;
  });
  return evidence;
}

}  // namespace flashfit::doctor::pasted
