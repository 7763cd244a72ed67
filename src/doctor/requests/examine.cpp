#include "doctor/requests/examine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <set>

#include "core/base/printable.hpp"
#include "doctor/requests/read_list.hpp"

namespace flashfit::doctor::requests {
namespace {

namespace fs = std::filesystem;

/// A list to be read: the question's part that the list naming it knows better goes with it.
struct Waiting {
  fs::path path;
  ListKind kind;
  Base base;
  Indexes indexes;
};

class Lists {
 public:
  Lists(const doctor::Question& asked, const ListOptions& options) : asked_(asked), options_(options) {}

  std::vector<ListReport> run(const std::string& path, ListKind kind) {
    std::error_code error;
    const fs::path folder = fs::path(path).parent_path();
    root_ = fs::canonical(folder.empty() ? "." : folder, error);
    seen_.insert(fs::weakly_canonical(path, error));
    waiting_.push_back({path, kind, {}, {}});
    std::vector<ListReport> reports;
    for (; !waiting_.empty(); waiting_.pop_front()) reports.push_back(judge_one(waiting_.front()));
    return reports;
  }

 private:
  ListReport judge_one(const Waiting& one) {
    doctor::Target target{.target = one.path.string(), .file_name = one.path.filename().string(), .files = 1};
    auto list = read_list(target.target, one.kind);
    if (!list) {
      target.errors.push_back(list.error().message);
      ListReport report{.kind = one.kind, .report = judge(std::move(target), asked_)};
      report.lines.resize(report.report.problems.size());
      return report;
    }
    if (!one.base.name.empty()) {
      list->bases[0] = one.base;
      list->bases[0].line = 0;
    }
    // Options hold for all files of one command.
    for (Indexes& own : list->indexes) {
      own.addresses.insert(own.addresses.end(), one.indexes.addresses.begin(), one.indexes.addresses.end());
      own.replaced |= one.indexes.replaced;
      if (own.torch_backend.empty()) own.torch_backend = one.indexes.torch_backend;
    }
    for (const Include& include : list->includes) {
      std::string why = follow(include, one, *list);
      if (!why.empty())
        list->troubles.push_back(
            {include.line, fmt::format("{} {}: {}", include.constraint ? "-c" : "-r", printable(include.path), why)});
    }
    ListReport report = judge_list(*list, std::move(target), asked_, options_);
    report.kind = one.kind;
    return report;
  }

  /// Why the included file is not read; "" if it is, or was.
  std::string follow(const Include& include, const Waiting& from, const RequestList& list) {
    if (include.path.find("://") != std::string::npos)
      return "an address: nothing is fetched; name its file as a target";
    if (include.constraint) return "";
    std::error_code error;
    fs::path path = from.path.parent_path() / include.path;
    // A command's folder is one of the image: what it names was copied out of the build's context.
    if (from.kind == ListKind::kDockerfile) {
      path = from.path.parent_path() / fs::path(include.path).relative_path();
      if (!fs::exists(path, error)) path = from.path.parent_path() / fs::path(include.path).filename();
    }
    const fs::path real = fs::canonical(path, error);
    if (error) return "no such file";
    const bool inside =
        !root_.empty() && std::mismatch(root_.begin(), root_.end(), real.begin(), real.end()).first == root_.end();
    if (!inside) return "outside the list's own folder: name it as a target";
    if (!seen_.insert(real).second) return "";
    if (seen_.size() > kMostIncluded + 1) return fmt::format("more than {} lists", kMostIncluded);
    if (!fs::is_regular_file(real, error)) return "not a regular file";
    const bool lock = list_kind_of(path.string()) == ListKind::kLock;
    waiting_.push_back({path.lexically_normal(), lock ? ListKind::kLock : ListKind::kRequirements,
                        list.bases[include.base], list.indexes[include.indexes]});
    return "";
  }

  const doctor::Question& asked_;
  const ListOptions& options_;
  fs::path root_;
  std::set<fs::path> seen_;
  std::deque<Waiting> waiting_;
};

}  // namespace

std::vector<ListReport> examine_list(const std::string& path, ListKind kind, const doctor::Question& asked,
                                     const ListOptions& options) {
  return Lists(asked, options).run(path, kind);
}

}  // namespace flashfit::doctor::requests
