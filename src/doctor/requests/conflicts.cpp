#include "doctor/requests/conflicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/base/printable.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/packaging/marker.hpp"
#include "doctor/requests/by_name.hpp"
#include "doctor/requests/known_versions.hpp"

namespace flashfit::doctor::requests {
namespace {

using doctor::Companion;
using doctor::CompanionRelease;
using doctor::Requirement;
using doctor::Version;

constexpr std::string_view kTorch = "torch";

/// Not on Linux, as far as a platform was named.
bool is_elsewhere(const doctor::Question& question) {
  using System = doctor::Platform::System;
  return question.platform && question.platform->system != System::kGlibc && question.platform->system != System::kMusl;
}

bool is_of_index_for_linux(const doctor::Question& question) {
  return question.platform && question.platform->system == doctor::Platform::System::kGlibc &&
         question.platform->arch == "x86_64";
}

/// Who asks for releases of the package that is looked at, in words, and for which.
struct Asker {
  std::optional<std::size_t> place;  ///< of its request; nothing: PyTorch that another request brings
  std::string words;                 ///< "line 3, vllm==0.11.0"
  std::vector<const CompanionRelease*> releases;
  const Companion* companion = nullptr;
};

class Conflicts {
 public:
  Conflicts(const RequestList& list, const Places& compared, const doctor::Question& question, const Change* change)
      : list_(list), question_(question), change_(change) {
    for (const std::size_t i : compared) {
      by_name_[list.requests[i].package.name].push_back(i);
      locked_ |= list.requests[i].locked;
    }
  }

  std::vector<Version> torches_left() {
    judge(kTorch);
    return std::move(left_);
  }

  std::vector<Conflict> find() {
    if (by_name_.empty()) return {};
    judge(kTorch);
    std::set<std::string_view> others;
    for (const Companion& companion : doctor::knowledge_data().companions)
      if (companion.other != kTorch && (by_name_.contains(companion.package) || companion.package == kTorch))
        others.insert(companion.other);
    judge_cuda();
    torches_ = left_;
    whose_torch_ = wanted_;
    for (const std::string_view other : others) judge(other);
    return std::move(conflicts_);
  }

 private:
  const Requirement& package(std::size_t place) const {
    return change_ != nullptr && change_->place == place ? change_->package : list_.requests[place].package;
  }
  std::string text(std::size_t place) const { return printable(list_.requests[place].text, 100); }
  std::string on_line(std::size_t place) const {
    return fmt::format("line {}, {}", list_.requests[place].line, text(place));
  }
  const Places& requests_for(std::string_view name) const {
    static const Places kNone;
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? kNone : found->second;
  }

  /// Of a package whose releases are not known those that matter; the one version where a request pins it.
  std::vector<Version> possible(std::string_view other) const {
    std::vector<doctor::Specifiers> wishes;
    for (const std::size_t place : requests_for(other)) {
      if (auto one = pinned(package(place))) return {std::move(*one)};
      wishes.push_back(package(place).versions);
    }
    return possible_versions(other, wishes);
  }

  /// What the list's own requests for the package leave of its releases; none if none of those is known.
  void take(std::string_view other) {
    wanted_.clear();
    asked_.reset();
    if (other == kTorch && question_.torch) {
      left_.clear();
      if (question_.torch->version) left_ = {question_.torch->version->public_part()};
      wanted_ = question_.whose_torch + " is " + (question_.torch->version ? question_.torch->version->text : "");
      return;
    }
    left_ = other == kTorch ? doctor::knowledge_data().torch_versions : possible(other);
    for (const std::size_t place : requests_for(other)) {
      const Requirement& wish = package(place);
      if (!wish.versions.empty()) {
        wanted_ = "the list asks for " + text(place);
        asked_ = place;
      }
      std::erase_if(left_, [&](const Version& version) { return refusing(wish.versions, version) != nullptr; });
    }
  }

  void judge(std::string_view other) {
    const std::vector<Asker> askers = askers_for(other);
    // What PyTorch's requests leave is asked for afterwards. Of others, one wish alone excludes nothing.
    if (other != kTorch && askers.size() + requests_for(other).size() < 2) return;
    take(other);
    if (left_.empty()) return;
    for (const Asker& asker : askers)
      if (asker.companion->runs.empty()) narrow(other, asker);
    for (const Asker& asker : askers)
      if (!asker.companion->runs.empty()) narrow(other, asker);
  }

  /// PyTorch's build, as far as it is named: "cu128". Empty: that of the package index.
  std::string torch_build() const {
    std::string build = question_.torch && question_.torch->version ? question_.torch->version->local : "";
    for (const std::size_t place : requests_for(kTorch)) {
      if (const auto one = pinned(package(place)); build.empty() && one) build = one->local;
      if (build.empty()) build = build_of(list_.indexes[list_.requests[place].indexes]);
    }
    return build;
  }

  /// What needs the libraries of another CUDA than PyTorch's build brings, whichever releases are taken.
  void judge_cuda() {
    if (!is_of_index_for_linux(question_)) return;
    const std::string build = torch_build();
    std::set<int> theirs;
    for (const Version& torch : left_) theirs.insert(cuda_major(torch, build));
    if (theirs.empty() || theirs.contains(0)) return;
    for (const Asker& asker : askers_for(kTorch)) {
      if (!asker.place) continue;
      std::set<int> needed;
      for (const CompanionRelease* const one : asker.releases)
        if (std::any_of(left_.begin(), left_.end(), [&](const Version& torch) { return one->asks_for(torch); }))
          needed.insert(cuda_major(*asker.companion, *one, *asker.place));
      if (needed.empty() || needed.contains(0) ||
          std::any_of(needed.begin(), needed.end(), [&](int major) { return theirs.contains(major); }))
        continue;
      const Version& torch = left_.front();
      const auto* const release = doctor::torch_release_of(torch);
      doctor::Problem problem{
          "FF405", doctor::Severity::kMisfit,
          fmt::format("its wheels need the runtime of CUDA {}; torch {}{} brings that of CUDA {}", *needed.begin(),
                      torch.text, build.empty() ? " of the package index" : "+" + build, *theirs.begin()),
          "", ""};
      if (release != nullptr)
        for (const CudaVersion cuda : release->cuda)
          if (problem.fix.empty() && cuda / 1000 == *needed.begin())
            problem.fix = fmt::format("torch=={}+cu{}{}", torch.text, cuda / 1000, cuda % 1000 / 10);
      conflicts_.push_back({*asker.place, std::move(problem)});
    }
  }

  /// Of a build of PyTorch's; 0: for no CUDA, or not known.
  static int cuda_major(const Version& torch, std::string_view build) {
    if (build.empty()) {
      const auto* const release = doctor::torch_release_of(torch);
      return release == nullptr ? 0 : release->cuda.front() / 1000;
    }
    int cuda = 0;
    if (build.starts_with("cu")) std::from_chars(build.data() + 2, build.data() + build.size(), cuda);
    return cuda / 10;
  }

  /// Of the release that the request is for; 0: not known.
  int cuda_major(const Companion& companion, const CompanionRelease& release, std::size_t place) const {
    auto version = pinned(package(place));
    if (!version)
      if (auto newest = doctor::parse_version(release.release)) version = *newest;
    for (const doctor::CompanionCuda& cuda : companion.cuda)
      if (version && refusing(cuda.versions, *version) == nullptr) return cuda.major;
    return 0;
  }

  /// In the list's order, PyTorch first.
  std::vector<Asker> askers_for(std::string_view other) const {
    std::vector<Asker> askers;
    for (const Companion& companion : doctor::knowledge_data().companions) {
      if (companion.other != other || (companion.on_linux_alone && is_elsewhere(question_))) continue;
      if (companion.package == kTorch) {
        if (auto torch = torch_as_asker(companion)) askers.push_back(std::move(*torch));
        continue;
      }
      for (const std::size_t place : requests_for(companion.package)) {
        Asker asker{.place = place, .words = on_line(place), .releases = {}, .companion = &companion};
        for (const CompanionRelease& release : companion.releases)
          if (may_take(package(place), release)) asker.releases.push_back(&release);
        // Newer than what is known, or older, or of a source that asks for nothing.
        if (!asker.releases.empty()) askers.push_back(std::move(asker));
      }
    }
    std::stable_sort(askers.begin(), askers.end(), [](const Asker& a, const Asker& b) {
      return a.place.has_value() ? b.place.has_value() && *a.place < *b.place : b.place.has_value();
    });
    return askers;
  }

  /// PyTorch asks for releases, too, where it is certain enough which one it is: of Triton all its builds for CUDA,
  /// of NVIDIA's libraries those of the package index.
  std::optional<Asker> torch_as_asker(const Companion& companion) const {
    if (!is_of_index_for_linux(question_) || whose_torch_.empty() || torches_.empty() || locked_) return std::nullopt;
    const std::string build = torch_build();
    const bool for_cuda = build.empty() || build.starts_with("cu");
    if (!for_cuda || (companion.other != "triton" && !build.empty())) return std::nullopt;
    Asker asker{.place = std::nullopt, .words = "", .releases = {}, .companion = &companion};
    std::vector<std::string> versions;
    for (const Version& torch : torches_) {
      const auto release =
          std::find_if(companion.releases.begin(), companion.releases.end(),
                       [&](const CompanionRelease& one) { return refusing(one.versions, torch) == nullptr; });
      if (release == companion.releases.end()) return std::nullopt;
      asker.releases.push_back(&*release);
      versions.push_back(torch.text);
    }
    asker.words = question_.torch
                      ? fmt::format("{} torch {}", question_.whose_torch == "yours" ? "your" : question_.whose_torch,
                                    versions.front())
                      : fmt::format("torch {} ({})", doctor::listed(versions, 2), whose_torch_);
    return asker;
  }

  /// What the asker leaves; a conflict if that is nothing.
  void narrow(std::string_view other, const Asker& asker) {
    std::vector<Version> left = left_;
    // Of a lock nobody asks what its packages ask for.
    std::erase_if(left, [&](const Version& version) {
      return std::none_of(asker.releases.begin(), asker.releases.end(), [&](const CompanionRelease* one) {
        return locked_ && other == kTorch ? one->loads_under(version) : one->asks_for(version);
      });
    });
    if (left.empty()) {
      if (!may_be_newer(asker)) add(other, asker);
      return;
    }
    if (!asker.companion->runs.empty()) return;
    if (left.size() < left_.size() && !(other == kTorch && question_.torch))
      wanted_ = fmt::format("{}, for {}", asker.words, clauses(asker));
    left_ = std::move(left);
  }

  /// Whether a release that is not known yet may ask for what is there: what is there is newer than the newest asks
  /// for.
  bool may_be_newer(const Asker& asker) const {
    if (asker.place ? !takes_newer(package(*asker.place))
                    : torches_.size() == 1 || torches_.front() != doctor::knowledge_data().torch_versions.front())
      return false;
    const doctor::Specifiers& newest = asker.releases.front()->other;
    return std::any_of(left_.begin(), left_.end(), [&](const Version& version) {
      return std::none_of(newest.begin(), newest.end(),
                          [&](const doctor::Specifier& clause) { return version <= clause.version; });
    });
  }

  /// "torch ==2.9.1, torch ==2.9.0 and 3 more".
  static std::string clauses(const Asker& asker) {
    std::vector<std::string> texts;
    for (const CompanionRelease* const one : asker.releases) {
      std::string text = asker.companion->other + " " + one->other_text;
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
    }
    return doctor::listed(texts, 2);
  }

  void add(std::string_view other, const Asker& asker) {
    const Companion& companion = *asker.companion;
    doctor::Problem problem{"FF406", doctor::Severity::kMisfit, "", "", ""};
    std::optional<std::size_t> place = asker.place;
    if (!companion.runs.empty()) {
      problem.code = companion.code;
      problem.severity = doctor::Severity::kDegrades;
      problem.message = fmt::format("runs, but {}: made for {}; {}", companion.runs, clauses(asker), wanted_);
    } else if (other == kTorch) {
      problem.message = fmt::format("is built for {}; {}", clauses(asker), wanted_);
    } else if (asked_) {
      // The smaller of the two is the one to change.
      place = asked_;
      problem.message = fmt::format("{} asks for {}", asker.words, clauses(asker));
    } else {
      problem.message = fmt::format("asks for {}; {}", clauses(asker), wanted_);
    }
    // One reason to change a request is enough, and PyTorch's comes first.
    const auto said = [&](const Conflict& c) { return c.request == *place && c.problem.code == problem.code; };
    if (place && std::none_of(conflicts_.begin(), conflicts_.end(), said))
      conflicts_.push_back({*place, std::move(problem)});
  }

  const RequestList& list_;
  const doctor::Question& question_;
  const Change* change_;
  std::map<std::string, Places, std::less<>> by_name_;
  bool locked_ = false;               ///< of a lock
  std::vector<Version> torches_;      ///< PyTorch, as far as all requests for it agree
  std::string whose_torch_;           ///< who asks for these; "": any release will do
  std::vector<Version> left_;         ///< of the package that is looked at: what all so far agree on, the newest first
  std::string wanted_;                ///< who left these
  std::optional<std::size_t> asked_;  ///< the list's own request for it
  std::vector<Conflict> conflicts_;
};

}  // namespace

bool holds(const Request& request, const doctor::Question& question) {
  return doctor::marker_holds(request.package.marker, {question.python, question.platform}) != false;
}

Places compared(const RequestList& list, const Places& places, const doctor::Question& question) {
  const auto& known = doctor::knowledge_data().related;
  Places those;
  for (const std::size_t i : places) {
    const Request& request = list.requests[i];
    if (known.contains(request.package.name) && request.package.url.empty() && holds(request, question))
      those.push_back(i);
  }
  return those;
}

std::vector<Version> torches_left(const RequestList& list, const Places& compared, const doctor::Question& question) {
  return Conflicts(list, compared, question, nullptr).torches_left();
}

std::vector<Conflict> find_conflicts(const RequestList& list, const Places& compared, const doctor::Question& question,
                                     const Change* change) {
  return Conflicts(list, compared, question, change).find();
}

}  // namespace flashfit::doctor::requests
