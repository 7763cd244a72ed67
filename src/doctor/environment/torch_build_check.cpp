// FF703, FF704: the installed PyTorch against the driver and the GPUs, and the build of it that both take. Packages
// built against a PyTorch follow it, so that this one is the first culprit.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/environment/site.hpp"
#include "doctor/environment/torch_builds.hpp"
#include "doctor/knowledge/data.hpp"
#include "doctor/knowledge/torch_releases.hpp"
#include "doctor/mends/torch_install.hpp"
#include "doctor/packaging/version.hpp"

namespace flashfit::doctor::environment {
namespace {

bool has(const doctor::TargetReport& report, std::string_view code) {
  return std::any_of(report.problems.begin(), report.problems.end(),
                     [&](const Problem& p) { return p.code == code && p.severity == doctor::Severity::kMisfit; });
}

/// The table of PyTorch's releases, outgrown.
void note_unknown_release(const std::string& torch, doctor::TargetReport& report) {
  const auto version = doctor::parse_version(torch);
  if (!version || doctor::torch_release_of(*version) != nullptr) return;
  report.problems.push_back(
      {"FF709", doctor::Severity::kNote,
       fmt::format("torch {} is none of the releases up to {} ({}): no other build of it can be named", torch,
                   doctor::torch_releases().back().str(), doctor::words_of_date(doctor::knowledge_data())),
       "", "flashfit of a later date, or --knowledge with a newer file"});
}

}  // namespace

void check_torch_build(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  if (d.name != "torch") return;
  const std::string torch = site.torch_version();
  note_unknown_release(torch, report);
  if (torch.find("+cpu") != std::string::npos && !site.question.gpus.empty() && !site.question.survey) {
    const auto build = torch_build_for(torch, site.question);
    report.problems.push_back(
        {"FF704", doctor::Severity::kDegrades,
         fmt::format("torch {} is built for the CPU alone: torch.cuda.is_available() is False", torch), "",
         build ? fmt::format("torch {} from PyTorch's own index \"{}\"", build->version, build->index)
               : "a PyTorch built for CUDA"});
    if (!build) return;
    report.mend = doctor::torch_install(build->version);
    report.mend_why = fmt::format("from PyTorch's own index \"{}\"", build->index);
    return;
  }
  const bool driver = has(report, "FF105") || has(report, "FF103") || has(report, "FF104"), code = has(report, "FF101");
  if (!driver && !code) return;
  const auto build = torch_build_for(torch, site.question);
  std::string message =
      driver ? fmt::format("torch {} is too new for this driver", torch)
             : fmt::format("torch {} has no code for this GPU, although torch.cuda.is_available() is True", torch);
  if (build) message += fmt::format("; {} runs here", build->version);
  report.problems.push_back({driver ? "FF703" : "FF704", doctor::Severity::kMisfit, std::move(message), "",
                             build
                                 ? fmt::format("torch {} from PyTorch's own index \"{}\"", build->version, build->index)
                             : driver ? "a newer driver"
                                      : "a PyTorch compiled for this GPU: none of its own builds has code for it"});
  if (!build) return;
  report.mend = doctor::torch_install(build->version);
  report.mend_why = fmt::format(
      "from PyTorch's own index \"{}\": it has code for what was asked, and its CUDA is one "
      "that the driver takes",
      build->index);
}

}  // namespace flashfit::doctor::environment
