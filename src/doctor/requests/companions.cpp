#include "doctor/requests/companions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/base/printable.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/knowledge/data.hpp"
#include "doctor/packaging/marker.hpp"
#include "doctor/packaging/same_release.hpp"
#include "doctor/requests/by_name.hpp"

namespace flashfit::doctor::requests {
namespace {

using doctor::CompanionRelease;
using doctor::Version;

bool holds(const Request& request, const doctor::Question& question) {
  return doctor::marker_holds(request.package.marker, {question.python, question.platform}) != false;
}

/// Every release of PyTorch that is known, each patch of it, the newest first.
std::vector<Version> every_torch() {
  std::vector<Version> all;
  for (const doctor::TorchRelease& release : doctor::torch_releases())
    for (std::uint64_t patch = 0; patch <= release.last_patch; ++patch)
      if (auto version = doctor::parse_version(fmt::format("{}.{}.{}", release.major, release.minor, patch)))
        all.push_back(std::move(*version));
  std::reverse(all.begin(), all.end());
  return all;
}

/// Whether the request takes one of these releases, of which the clauses' own versions and the newest are known.
bool may_take(const Request& request, const CompanionRelease& releases) {
  if (const auto one = pinned(request.package)) return refusing(releases.versions, one->public_part()) == nullptr;
  std::vector<Version> known;
  if (auto newest = doctor::parse_version(releases.release)) known.push_back(std::move(*newest));
  for (const doctor::Specifier& clause : releases.versions)
    if (refusing(releases.versions, clause.version) == nullptr) known.push_back(clause.version);
  return std::any_of(known.begin(), known.end(),
                     [&](const Version& version) { return refusing(request.package.versions, version) == nullptr; });
}

class Conflicts {
 public:
  Conflicts(const RequestList& list, std::size_t base, const doctor::Question& question)
      : list_(list), base_(base), question_(question) {}

  std::vector<Conflict> find() {
    take_torch();
    if (torches_.empty()) return {};
    for (std::size_t i = 0; i < list_.requests.size(); ++i) {
      const Request& request = list_.requests[i];
      if (request.base != base_ || !request.package.url.empty() || !holds(request, question_)) continue;
      if (const doctor::Companion* const companion = doctor::knowledge_data().companion(request.package.name))
        judge(i, *companion);
    }
    return std::move(conflicts_);
  }

 private:
  /// What the list's requests for PyTorch leave; nothing if no release that is known is among it.
  void take_torch() {
    if (question_.torch) {
      if (question_.torch->version) torches_ = {question_.torch->version->public_part()};
      wanted_ = question_.whose_torch + " is " + (question_.torch->version ? question_.torch->version->text : "");
      return;
    }
    torches_ = every_torch();
    for (const Request& request : list_.requests) {
      if (request.base != base_ || request.package.name != "torch" || !holds(request, question_)) continue;
      if (!request.package.versions.empty()) wanted_ = "the list asks for " + printable(request.text, 100);
      std::erase_if(torches_,
                    [&](const Version& torch) { return refusing(request.package.versions, torch) != nullptr; });
    }
  }

  void judge(std::size_t number, const doctor::Companion& companion) {
    const Request& request = list_.requests[number];
    std::vector<const CompanionRelease*> releases;
    for (const CompanionRelease& one : companion.releases)
      if (may_take(request, one)) releases.push_back(&one);
    if (releases.empty()) return;  // newer than what is known, or older
    std::vector<Version> left = torches_;
    std::erase_if(left, [&](const Version& torch) {
      return std::none_of(releases.begin(), releases.end(),
                          [&](const CompanionRelease* one) { return refusing(one->torch, torch) == nullptr; });
    });
    std::vector<std::string> texts;
    for (const CompanionRelease* const one : releases) texts.push_back("torch " + one->torch_text);
    if (!left.empty()) {
      if (left.size() < torches_.size() && !question_.torch)
        wanted_ =
            fmt::format("line {}, {}, for {}", request.line, printable(request.text, 100), doctor::listed(texts, 2));
      torches_ = std::move(left);
      return;
    }
    // A version beside a version is the rule's for names.
    if (question_.torch && pinned(request.package)) return;
    conflicts_.push_back(
        {number,
         {"FF406", doctor::Severity::kMisfit, fmt::format("is built for {}; {}", doctor::listed(texts, 2), wanted_), "",
          release_for_newest(companion)}});
  }

  std::string release_for_newest(const doctor::Companion& companion) const {
    for (const CompanionRelease& one : companion.releases)
      if (refusing(one.torch, torches_.front()) == nullptr)
        return fmt::format("{}=={}", companion.package, one.release);
    return "";
  }

  const RequestList& list_;
  const std::size_t base_;
  const doctor::Question& question_;
  std::vector<Version> torches_;  ///< what all requests so far take, the newest first
  std::string wanted_;            ///< who left these
  std::vector<Conflict> conflicts_;
};

/// Of a package that works beside the same release of another alone (Knowledge::Kind::kOnlyBeside).
void add_other_releases(const RequestList& list, std::size_t base, const doctor::Question& question,
                        const doctor::PackageRow& row, std::vector<Conflict>& conflicts) {
  const std::string &package = row.at("package"), &other = row.at("other");
  for (std::size_t i = 0; i < list.requests.size(); ++i) {
    const Request& request = list.requests[i];
    // A list may have very many requests and bases: what costs nothing is asked first.
    if (request.base != base || request.package.name != package) continue;
    const auto ours = pinned(request.package);
    if (!ours || !holds(request, question)) continue;
    for (const Request& beside : list.requests) {
      if (beside.base != base || beside.package.name != other) continue;
      const auto theirs = pinned(beside.package);
      if (!theirs || !holds(beside, question) || doctor::same_release(ours->text, theirs->text)) continue;
      conflicts.push_back({i,
                           {"FF712", doctor::Severity::kDegrades,
                            fmt::format("runs, but on the CPU: works beside {} {} alone, and line {} asks for {}",
                                        other, printable(ours->text), beside.line, printable(beside.text, 100)),
                            "", fmt::format("{}=={}", package, printable(theirs->text))}});
    }
  }
}

}  // namespace

std::vector<Conflict> companion_conflicts(const RequestList& list, std::size_t base, const doctor::Question& question) {
  std::vector<Conflict> conflicts = Conflicts(list, base, question).find();
  for (const doctor::PackageRow& row : doctor::knowledge_data().packages)
    if (row.at("kind") == "only_beside") add_other_releases(list, base, question, row, conflicts);
  return conflicts;
}

}  // namespace flashfit::doctor::requests
