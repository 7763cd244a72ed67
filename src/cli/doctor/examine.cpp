#include "cli/doctor/examine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "cli/doctor/given_text.hpp"
#include "core/base/printable.hpp"
#include "doctor/container/examine_image.hpp"
#include "doctor/container/image_archive.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/pasted/diagnosis.hpp"
#include "doctor/requests/examine.hpp"
#include "doctor/requests/read_list.hpp"

namespace flashfit::cli {
namespace {

void take_lists(std::vector<doctor::requests::ListReport> lists, DoctorReport& report) {
  for (doctor::requests::ListReport& list : lists) {
    report.lists.resize(report.targets.size());
    report.targets.push_back(std::move(list.report));
    report.lists.push_back({name_of(list.kind), std::move(list.basis), std::move(list.lines)});
  }
}

bool is_absent_wheel(const std::string& target) {
  std::error_code error;
  return target.ends_with(".whl") && !std::filesystem::exists(target, error) && !error;
}

/// What a name tells: a misfit stands, and that it fits cannot be told.
void judge_names(const std::vector<std::string>& names, DoctorReport& report) {
  for (doctor::TargetReport& by_name : doctor::examine_names(names, report.question)) {
    report.assumed.push_back(printable(by_name.target.file_name, 200) +
                             " is not here: it is judged by its name alone, which does not tell the GPUs");
    if (by_name.verdict < doctor::Verdict::kUnknown) {
      by_name.problems.insert(by_name.problems.begin(),
                              {"FF903", doctor::Severity::kUnknown,
                               "no such file; nothing in its name stands against it, and only the file tells the rest",
                               "", "the file itself"});
      by_name.verdict = doctor::Verdict::kUnknown;
    }
    report.targets.push_back(std::move(by_name));
  }
}

/// People name their error's file where a list of packages may stand.
void say_what_reads_like_an_error(const std::string& path, DoctorReport& report) {
  constexpr std::size_t kMost = 1 << 20;
  const auto& targets = report.targets;
  const bool unread = std::any_of(targets.begin(), targets.end(), [&](const doctor::TargetReport& one) {
    return one.target.target == path && one.verdict == doctor::Verdict::kUnknown;
  });
  std::error_code error;
  if (!unread || !std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) > kMost)
    return;
  const doctor::pasted::Diagnosis diagnosis = doctor::pasted::diagnose(given_text(path).text);
  if (diagnosis.error.kind == nullptr && diagnosis.exception.empty()) return;
  report.assumed.push_back(fmt::format("{0} reads like an error: flashfit doctor --error {0} says what it means",
                                       doctor::is_plain_path(path) ? doctor::shell_word(path) : "FILE"));
}

}  // namespace

void examine_targets(const DoctorOptions& options, doctor::requests::Fetcher* fetcher, DoctorReport& report) {
  std::vector<std::string> files, names, images;
  std::vector<std::pair<std::string, doctor::requests::ListKind>> lists;
  for (const std::string& target : options.targets) {
    if (const auto kind = doctor::requests::list_kind_of(target)) {
      lists.emplace_back(target, *kind);
    } else if (is_absent_wheel(target)) {
      names.push_back(target);
    } else {
      (doctor::container::is_image_archive(target) ? images : files).push_back(target);
    }
  }
  if (!files.empty()) report.targets = doctor::examine(files, report.question, options.how());
  judge_names(names, report);
  doctor::requests::ListOptions how{.how = options.how()};
  how.named = {
      .python = !options.python.empty(), .platform = !options.platform.empty(), .glibc = !options.glibc.empty()};
  if (fetcher != nullptr)
    how.fetch = [&](const doctor::requests::Request& request, const doctor::requests::Indexes& indexes,
                    const doctor::Question& question) { return fetcher->fetch(request, indexes, question); };
  for (const auto& [path, kind] : lists)
    take_lists(doctor::requests::examine_list(path, kind, report.question, how), report);
  if (fetcher != nullptr)
    for (const std::string& error : fetcher->errors()) report.assumed.push_back("not fetched: " + error);
  for (const std::string& path : images) {
    auto reports = doctor::container::examine_images(path, report.question,
                                                     {.python = how.named.python,
                                                      .platform = how.named.platform,
                                                      .glibc = how.named.glibc,
                                                      .torch = !options.torch.empty()});
    std::move(reports.begin(), reports.end(), std::back_inserter(report.targets));
  }
  if (!report.lists.empty()) report.lists.resize(report.targets.size());
  for (const std::string& target : options.targets) say_what_reads_like_an_error(target, report);
}

}  // namespace flashfit::cli
