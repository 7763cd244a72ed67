#include "doctor/rules/picked_by_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/knowledge/data.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {
namespace {

/// The libraries of a row by their CUDA, "124": the shorter number first, "90" before "118".
struct Fewer {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};
using Carried = std::map<std::string, std::string, Fewer>;

/// What stands for the pattern's one star, if that is a number; "" if the path is none of its files.
std::string_view number_in(std::string_view pattern, std::string_view path) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return "";
  const std::string_view before = pattern.substr(0, star), behind = pattern.substr(star + 1);
  if (path.size() <= before.size() + behind.size() || !path.starts_with(before) || !path.ends_with(behind)) return "";
  const std::string_view number = path.substr(before.size(), path.size() - before.size() - behind.size());
  return std::all_of(number.begin(), number.end(), is_digit) ? number : "";
}

/// "124" of PyTorch 2.6.0+cu124, and of 2.6.0, which the package index has for that CUDA; "" if it is not known.
std::string torch_cuda(const Question& question) {
  if (!question.torch || !question.torch->version) return "";
  const Version& version = *question.torch->version;
  const std::string_view label = version.local;
  if (label.starts_with("cu")) return std::string(label.substr(2, label.find_first_not_of("0123456789", 2) - 2));
  const TorchRelease* const release = label.empty() ? torch_release_of(version) : nullptr;
  if (release == nullptr || release->cuda[0] == 0) return "";
  return fmt::format("{}{}", release->cuda[0] / 1000, release->cuda[0] % 1000 / 10);
}

/// Which of them is loaded; "" if none is. `near`: of the same major version the newest below, else the oldest above.
std::string picked(const Carried& carried, const std::string& wanted, bool near) {
  if (carried.contains(wanted)) return wanted;
  if (!near) return "";
  std::string below, above;
  for (const auto& [one, path] : carried) {
    if (one.size() != wanted.size() || one.compare(0, one.size() - 1, wanted, 0, one.size() - 1) != 0) continue;
    if (one < wanted) below = one;
    if (one > wanted && above.empty()) above = one;
  }
  return below.empty() ? above : below;
}

bool is_of(const PackageRow& row, const WheelName& wheel) {
  if (row.at("package") != wheel.name) return false;
  const auto versions = row.contains("versions") ? parse_specifiers(row.at("versions")) : Specifiers{};
  return versions && refusing(*versions, wheel.version.public_part()) == nullptr;
}

void add_none(const PackageRow& row, const Carried& carried, const std::string& wanted, const Question& question,
              std::vector<Problem>& problems) {
  std::vector<std::string> there;
  std::string nearest;
  for (const auto& [one, path] : carried) {
    there.push_back(printable(one));
    if (one.size() == wanted.size() && one.substr(0, 2) == wanted.substr(0, 2)) nearest = one;
  }
  std::string file = row.at("files").substr(row.at("files").rfind('/') + 1);
  file.replace(file.find('*'), 1, wanted);
  problems.push_back({"FF707", Severity::kMisfit,
                      fmt::format("loads {} by torch's CUDA ({}), and carries {} alone: \"{}\"", printable(file),
                                  question.torch->version->text, listed(there, 20), row.at("says")),
                      "",
                      nearest.empty() ? fmt::format("a version of {} with that file", row.at("package"))
                                      : fmt::format("{}={}", row.at("other"), printable(nearest))});
}

void judge_row(const PackageRow& row, bool near, const Target& target, const Question& question,
               std::vector<Problem>& problems) {
  Carried carried;
  for (const Binary& binary : target.binaries)
    if (const auto number = number_in(row.at("files"), binary.path); !number.empty())
      carried.emplace(number, binary.path);
  if (carried.size() < 2) return;
  std::map<std::string_view, bool> stands;  // against which of them something stands
  const auto is_bad = [](const Problem& p) { return p.severity > Severity::kNote; };
  for (const auto& [one, path] : carried)
    stands[path] =
        std::any_of(problems.begin(), problems.end(), [&](const Problem& p) { return p.member == path && is_bad(p); });
  const std::string wanted = torch_cuda(question);
  const std::string taken = wanted.empty() ? "" : picked(carried, wanted, near);
  const bool one_fits = std::any_of(stands.begin(), stands.end(), [](const auto& one) { return !one.second; });
  for (Problem& p : problems) {
    const auto found = stands.find(p.member);
    if (found == stands.end() || !is_bad(p)) continue;
    if (taken.empty() ? one_fits : carried.at(taken) != p.member) p.severity = Severity::kNote;
    // No library beside it serves where this one is loaded.
    if (!taken.empty() && carried.at(taken) == p.member && p.code == "FF101" && !question.survey)
      p.severity = Severity::kMisfit;
  }
  if (!wanted.empty() && taken.empty()) add_none(row, carried, wanted, question, problems);
}

}  // namespace

void judge_picked_by_cuda(const Target& target, const Question& question, std::vector<Problem>& problems) {
  if (target.kind != TargetKind::kWheel) return;
  const auto wheel = parse_wheel_name(target.file_name);
  if (!wheel) return;
  for (const PackageRow& row : knowledge_data().packages) {
    const std::string& kind = row.at("kind");
    if ((kind == "picks_by_cuda" || kind == "picks_near_cuda") && is_of(row, *wheel))
      judge_row(row, kind == "picks_near_cuda", target, question, problems);
  }
}

}  // namespace flashfit::doctor
