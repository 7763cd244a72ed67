#include "doctor/rules/picked_by_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "doctor/bytes/listing.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/knowledge/picked_cuda.hpp"
#include "doctor/knowledge/torch_releases.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {
namespace {

/// "124" of PyTorch 2.6.0+cu124, and of 2.6.0, which the package index has for that CUDA; "" if it is not known.
std::string torch_cuda(const Question& question) {
  if (!question.torch || !question.torch->version) return "";
  const Version& version = *question.torch->version;
  if (!version.local.empty()) return cuda_digits("+" + version.local);
  const TorchRelease* const release = torch_release_of(version);
  if (release == nullptr || release->cuda[0] == 0) return "";
  return fmt::format("{}{}", release->cuda[0] / 1000, release->cuda[0] % 1000 / 10);
}

void judge_row(const Knowledge& row, const Target& target, const Question& question, std::vector<Problem>& problems) {
  std::vector<std::string> paths;
  for (const Binary& binary : target.binaries) paths.push_back(binary.path);
  const std::vector<std::string> carried = carried_cudas(row, paths);
  if (carried.size() < 2) return;
  const auto is_bad = [](const Problem& p) { return p.severity > Severity::kNote; };
  const bool one_fits = std::any_of(carried.begin(), carried.end(), [&](const std::string& one) {
    return std::none_of(problems.begin(), problems.end(),
                        [&](const Problem& p) { return is_bad(p) && carried_cuda(row, p.member) == one; });
  });
  const std::string wanted = torch_cuda(question);
  const std::string taken = wanted.empty() ? "" : picked_cuda(row, carried, wanted);
  for (Problem& p : problems) {
    const std::string one = carried_cuda(row, p.member);
    if (one.empty() || !is_bad(p)) continue;
    if (taken.empty() ? one_fits : one != taken) p.severity = Severity::kNote;
    // No library beside it serves where this one is loaded.
    if (one == taken && p.code == "FF101" && !question.survey) p.severity = Severity::kMisfit;
  }
  if (!wanted.empty() && taken.empty())
    problems.push_back(none_for_cuda(row, carried, wanted, question.torch->version->text, row.package));
}

}  // namespace

Problem none_for_cuda(const Knowledge& row, const std::vector<std::string>& carried, const std::string& wanted,
                      std::string_view torch, std::string_view package) {
  const std::string nearest = nearest_cuda(carried, wanted);
  return {"FF707", Severity::kMisfit,
          fmt::format("loads {} by torch's CUDA ({}), and carries {} alone: \"{}\"", file_for_cuda(row, wanted), torch,
                      listed(carried, 20), row.says),
          "",
          nearest.empty() ? fmt::format("a version of {} with that file", package)
                          : fmt::format("{}={}", row.other, nearest)};
}

void judge_picked_by_cuda(const Target& target, const Question& question, std::vector<Problem>& problems) {
  if (target.kind != TargetKind::kWheel) return;
  const auto wheel = parse_wheel_name(target.file_name);
  if (!wheel) return;
  for (const auto kind : {Knowledge::Kind::kPicksByCuda, Knowledge::Kind::kPicksNearCuda})
    for (const Knowledge* const row : known_of(wheel->name, wheel->version.text, kind))
      judge_row(*row, target, question, problems);
}

}  // namespace flashfit::doctor
