// Another release of the same package, the one that is built for the PyTorch that is there: nothing else changes.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/facts/torch_facts.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/mends/torch_install.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/rules/torch_requirement.hpp"

namespace flashfit::doctor {
namespace {

using namespace std::string_view_literals;

constexpr auto kOfTorch = {"FF210"sv, "FF401"sv, "FF402"sv, "FF404"sv, "FF405"sv, "FF406"sv};

/// Whether something stands against the file that the name of another release does not tell: its code, its libraries.
bool others_stand(const TargetReport& report) {
  return std::any_of(report.problems.begin(), report.problems.end(), [](const Problem& problem) {
    const bool told = problem.code.starts_with("FF2") || problem.code == "FF904" ||
                      std::find(kOfTorch.begin(), kOfTorch.end(), problem.code) != kOfTorch.end();
    return problem.severity > Severity::kNote && !told;
  });
}

/// The release as the rules see it before it is fetched: its name, with the tags that the file has.
Target named(const std::string& package, const std::string& release, const WheelName& like) {
  const std::string name = fmt::format("{}-{}-{}.whl", underscored(package), release, like.tags.front().str());
  return {.target = name, .file_name = name, .kind = TargetKind::kName};
}

}  // namespace

std::optional<Mend> mend_by_release(const TargetReport& report, const Question& question) {
  const auto name = parse_wheel_name(report.target.file_name);
  if (!name || !question.torch || !has_problem(report, kOfTorch) || others_stand(report)) return std::nullopt;
  const std::string release = release_for(name->name, *question.torch);
  if (release.empty() || release == name->version.public_part().text ||
      !fits(named(name->name, release, *name), question))
    return std::nullopt;
  const bool installed = report.target.kind == TargetKind::kDistribution;
  return Mend{companion_install(name->name, release, question.torch->version->local, installed),
              fmt::format("{} {} is the release for torch {}", name->name, release, question.torch->version->text)};
}

}  // namespace flashfit::doctor
