#include "cli/doctor_examine.hpp"

#include <iterator>

#include "inspect/printable.hpp"
#include "oci/examine_image.hpp"
#include "oci/image_archive.hpp"
#include "requests/examine.hpp"
#include "requests/read_list.hpp"

namespace flashfit::cli {
namespace {

void take_lists(std::vector<requests::ListReport> lists, DoctorReport& report) {
  for (requests::ListReport& list : lists) {
    report.lists.resize(report.targets.size());
    report.targets.push_back(std::move(list.report));
    report.lists.push_back({name_of(list.kind), std::move(list.basis), std::move(list.lines)});
  }
}

}  // namespace

void examine_targets(const DoctorOptions& options, requests::Fetcher* fetcher, DoctorReport& report) {
  std::vector<std::string> files, images;
  std::vector<std::pair<std::string, requests::ListKind>> lists;
  for (const std::string& target : options.targets) {
    if (const auto kind = requests::list_kind_of(target)) {
      lists.emplace_back(target, *kind);
    } else {
      (oci::is_image_archive(target) ? images : files).push_back(target);
    }
  }
  if (!files.empty()) report.targets = inspect::examine(files, report.question, options.how());
  requests::ListOptions how{.how = options.how()};
  how.named = {
      .python = !options.python.empty(), .platform = !options.platform.empty(), .glibc = !options.glibc.empty()};
  if (fetcher != nullptr)
    how.fetch = [&](const requests::Request& request, const requests::Indexes& indexes,
                    const inspect::Question& question) { return fetcher->fetch(request, indexes, question); };
  for (const auto& [path, kind] : lists) take_lists(requests::examine_list(path, kind, report.question, how), report);
  if (fetcher != nullptr)
    for (const std::string& error : fetcher->errors()) report.assumed.push_back("not fetched: " + error);
  for (const std::string& path : images) {
    auto reports = oci::examine_images(path, report.question,
                                       {.python = how.named.python,
                                        .platform = how.named.platform,
                                        .glibc = how.named.glibc,
                                        .torch = !options.torch.empty()});
    std::move(reports.begin(), reports.end(), std::back_inserter(report.targets));
  }
  if (!report.lists.empty()) report.lists.resize(report.targets.size());
}

}  // namespace flashfit::cli
