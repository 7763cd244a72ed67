// The command for an extension that was built against another PyTorch: part one's rules name what is missing (FF401,
// FF402), and here its source or the PyTorch that it names can be had.
#include <fmt/format.h>

#include <algorithm>

#include "environment/site.hpp"
#include "inspect/mends.hpp"
#include "inspect/torch_facts.hpp"

namespace flashfit::environment {

void check_torch_extension(const Site& site, const Package& package, inspect::TargetReport& report) {
  const Distribution& d = package.distribution;
  const bool other_torch = std::any_of(report.problems.begin(), report.problems.end(), [](const inspect::Problem& p) {
    return (p.code == "FF401" || p.code == "FF402") && p.severity == inspect::Severity::kMisfit;
  });
  if (!other_torch || !report.mend.empty() || d.version.empty()) return;
  if (const auto mend = inspect::mend_by_torch(report, site.question)) {
    report.mend = mend->command;
    report.mend_why = mend->why;
    return;
  }
  // Without the local part: the maker's own label of the build that is wrong here.
  const std::string release = d.version.substr(0, d.version.find('+'));
  report.mend = fmt::format(
      "pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps --no-binary {0} {0}=={1}", d.name,
      release);
  report.mend_why =
      fmt::format("compiles it against torch {}; it needs a compiler{}, and its source where the index has it",
                  site.torch_version(),
                  std::any_of(report.target.binaries.begin(), report.target.binaries.end(),
                              [](const inspect::Binary& b) { return !b.containers.empty(); })
                      ? " and nvcc of torch's CUDA"
                      : "");
}

}  // namespace flashfit::environment
