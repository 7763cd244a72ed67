#include "doctor/container/examine_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/printable.hpp"
#include "doctor/container/image_archive.hpp"
#include "doctor/environment/environment.hpp"

namespace flashfit::doctor::container {
namespace {

using dynamic_loader::FileKind;
using environment::Environment;
using environment::PackageReport;

constexpr std::size_t kMostFolders = 500'000;

bool is_site(std::string_view name) { return name == "site-packages" || name == "dist-packages"; }

/// The value of "NAME=value" in an image's variables.
std::string value_of(const std::vector<std::string>& variables, std::string_view name) {
  for (const std::string& variable : variables)
    if (variable.starts_with(name) && variable.size() > name.size() && variable[name.size()] == '=')
      return variable.substr(name.size() + 1);
  return "";
}

/// What was asked, as the image's own environments answer it.
environment::EnvironmentQuestion question_of(const Image& image, const Question& asked, Named named) {
  environment::EnvironmentQuestion question{.asked = asked};
  if (image.platform.ends_with("/arm64")) question.arch = "aarch64";
  question.variables = environment::variables_of([&](const char* name) { return value_of(image.variables, name); });
  if (!named.torch) question.asked.torch = nullptr;
  if (named.platform) return question;
  question.asked.platform.reset();
  if (!named.glibc || !asked.platform) return question;
  if (auto platform = doctor::parse_platform("linux_" + question.arch)) {
    platform->major = asked.platform->major;
    platform->minor = asked.platform->minor;
    question.asked.platform = std::move(*platform);
  }
  return question;
}

Problem not_read(std::string line) { return {"FF901", doctor::Severity::kNote, std::move(line), "", ""}; }

/// Adds what was found of an environment to its image's report. Paths become those of the image.
void add(Environment found, TargetReport& whole) {
  const auto take = [&](Problem& problem) {
    const auto same = [&](const Problem& p) { return p.message == problem.message && p.member == problem.member; };
    if (std::none_of(whole.problems.begin(), whole.problems.end(), same)) whole.problems.push_back(std::move(problem));
  };
  for (Problem& problem : found.problems) take(problem);
  for (PackageReport& package : found.packages) {
    TargetReport& report = package.report;
    const std::string folder = package.folder.empty() ? "" : package.folder.substr(1) + "/";
    const std::string title = package.version.empty() ? package.name : package.name + " " + package.version;
    for (Problem& problem : report.problems) {
      problem.message.insert(0, title + ": ");
      if (!problem.member.empty()) problem.member.insert(0, folder);
      whole.problems.push_back(std::move(problem));
    }
    for (doctor::Binary& binary : report.target.binaries) {
      binary.path.insert(0, folder);
      if (!binary.archive.empty()) binary.archive.insert(0, folder);
      whole.target.binaries.push_back(std::move(binary));
    }
    std::move(report.coverage.begin(), report.coverage.end(), std::back_inserter(whole.coverage));
    if (whole.mend.empty() && report.verdict != doctor::Verdict::kFits) {
      whole.mend = std::move(report.mend);
      whole.mend_why = std::move(report.mend_why);
    }
  }
  whole.target.files += found.files;
  for (std::string& line : found.unread) {
    Problem problem = not_read(std::move(line));
    take(problem);
  }
}

TargetReport examine_one(const Image& image, const std::string& path, const Question& asked, Named named) {
  Target target{.target = fmt::format("{} ({})", path, printable(image.name)),
                .file_name = std::filesystem::path(path).filename().string(),
                .kind = doctor::TargetKind::kDirectory};
  if (!image.error.empty()) target.errors.push_back(image.error);
  std::vector<std::string> unread;
  const auto sites = image.tree ? find_sites(*image.tree, unread) : std::vector<std::string>();
  if (sites.empty()) {
    std::move(unread.begin(), unread.end(), std::back_inserter(target.errors));
    return judge(std::move(target), asked);
  }
  TargetReport whole;
  // A layer that cannot be read is part one's finding; that nothing else is in the target is none.
  if (!target.errors.empty()) whole.problems = problems_of(target, asked);
  std::erase_if(whole.problems, [](const Problem& p) { return p.code != "FF901"; });
  whole.target = std::move(target);
  for (std::string& line : unread) whole.problems.push_back(not_read(std::move(line)));
  const environment::EnvironmentQuestion question = question_of(image, asked, named);
  std::set<std::string> done;
  for (const std::string& site : sites) {
    if (done.contains(site)) continue;
    environment::EnvironmentQuestion of_site = question;
    of_site.path = environment::prefix_of_packages(*image.tree, site);
    const auto prefix = environment::find_prefix(*image.tree, of_site.path);
    done.insert(prefix.packages.begin(), prefix.packages.end());
    if (!prefix.python.empty() || !named.python) of_site.asked.python.reset();
    add(look_at(*image.tree, of_site), whole);
  }
  std::stable_sort(whole.problems.begin(), whole.problems.end(),
                   [](const Problem& a, const Problem& b) { return a.severity > b.severity; });
  whole.verdict = doctor::verdict_of(whole.problems);
  return whole;
}

}  // namespace

std::vector<std::string> find_sites(const dynamic_loader::FileTree& tree, std::vector<std::string>& unread) {
  std::vector<std::string> sites, left{"/"};
  std::size_t seen = 0, left_out = 0, unlisted = 0;
  std::string why;
  for (; !left.empty() && seen < kMostFolders; ++seen) {
    const std::string here = std::move(left.back());
    left.pop_back();
    const auto entries = tree.list_here(here);
    if (!entries) {
      if (++unlisted == 1) why = entries.error().message;
      continue;
    }
    for (const dynamic_loader::Entry& entry : *entries) {
      if (entry.kind != FileKind::kFolder) continue;
      std::string path = dynamic_loader::join(here, entry.name);
      if (!is_site(entry.name))
        left.push_back(std::move(path));
      else if (sites.size() < kMostSites)
        sites.push_back(std::move(path));
      else
        ++left_out;
    }
  }
  if (unlisted > 0) unread.push_back(fmt::format("folders that cannot be listed: {}, the first: {}", unlisted, why));
  if (!left.empty())
    unread.push_back(fmt::format("more than {} folders: in the others no packages were looked for", kMostFolders));
  if (left_out > 0)
    unread.push_back(
        fmt::format("{} folders of packages, of which {} were not read", sites.size() + left_out, left_out));
  std::sort(sites.begin(), sites.end());
  return sites;
}

std::vector<TargetReport> examine_images(const std::string& path, const Question& asked, Named named) {
  std::vector<TargetReport> reports;
  const auto archive = open_image_archive(path);
  if (!archive) {
    Target target{.target = path, .file_name = std::filesystem::path(path).filename().string()};
    target.errors.push_back(archive.error().message);
    reports.push_back(judge(std::move(target), asked));
    return reports;
  }
  for (const Image& image : archive->images) reports.push_back(examine_one(image, path, asked, named));
  return reports;
}

}  // namespace flashfit::doctor::container
