// FF707, FF708: packages that load one of several files, by PyTorch's CUDA or by the GPU, and that one is not there.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/environment/site.hpp"
#include "doctor/knowledge/package_rows.hpp"
#include "doctor/knowledge/picked_cuda.hpp"
#include "doctor/mends/compile_command.hpp"
#include "doctor/rules/picked_by_cuda.hpp"

namespace flashfit::doctor::environment {
namespace {

using Kind = Knowledge::Kind;

void by_cuda(const Site& site, const Package& package, const Knowledge& row, doctor::TargetReport& report) {
  const std::string torch = site.torch_version();
  const std::string wanted = cuda_digits(torch);
  const std::vector<std::string> there = carried_cudas(row, package.relative_paths());
  if (wanted.empty() || there.empty() || !picked_cuda(row, there, wanted).empty()) return;
  report.problems.push_back(doctor::none_for_cuda(row, there, wanted, torch, package.distribution.name));
  const std::string nearest = nearest_cuda(there, wanted);
  if (nearest.empty() || !report.mend.empty()) return;
  report.mend = fmt::format("export {}={}", row.other, nearest);
  report.mend_why = fmt::format("makes it load {}, of the same major version of CUDA", file_for_cuda(row, nearest));
}

void by_gpu(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  std::vector<std::string> there;  // all variants, for the message
  const auto rows = known_of(d.name, d.version, Kind::kPicksByGpu);
  for (const FileFacts& file : package.files) {
    const std::string path = package.relative(file.path);
    const bool variant =
        std::any_of(rows.begin(), rows.end(), [&](const Knowledge* row) { return matches(row->files, path); });
    if (variant) there.push_back(printable(path.substr(path.rfind('/') + 1)));
  }
  for (const Knowledge* const row : rows) {
    for (const doctor::AskedGpu& gpu : site.question.gpus) {
      if (!names_gpu(row->gpus, gpu.gpu.cc)) continue;
      const bool has = std::any_of(package.files.begin(), package.files.end(), [&](const FileFacts& file) {
        return matches(row->files, package.relative(file.path));
      });
      if (has) continue;
      report.problems.push_back(
          {"FF708", Severity::kMisfit,
           fmt::format("loads {} on {}, and was built without it: \"{}\"; it carries {}", row->files, gpu_text(gpu),
                       row->says, there.empty() ? "none of its variants" : doctor::listed(there, 6)),
           "", fmt::format("{} compiled with TORCH_CUDA_ARCH_LIST={}", d.name, gpu.gpu.cc.str())});
      if (report.mend.empty() && !d.version.empty()) {
        report.mend = doctor::compile_command({.name = d.name, .origin = d.source, .is_installed = true}, {gpu.gpu.cc});
        report.mend_why = "compiles the variant for this GPU; it needs nvcc of torch's CUDA";
      }
      break;
    }
  }
}

/// Files that the package takes on a GPU for which it brings no code, where a later version leaves them: what others of
/// its libraries have does not serve then.
void taken_without_code(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  for (const Knowledge* const row : known_of(d.name, d.version, Kind::kOnlyOn)) {
    if (row->fix.empty()) continue;
    for (doctor::Problem& p : report.problems) {
      const bool taken = std::any_of(site.question.gpus.begin(), site.question.gpus.end(),
                                     [&](const auto& gpu) { return names_gpu(row->gpus, gpu.gpu.cc); });
      if ((p.code != "FF101" && p.code != "FF102") || !matches(row->files, p.member) || !taken) continue;
      p.severity = Severity::kMisfit;
      p.fix = row->fix;
      const std::size_t below = row->versions.find('<');
      if (below == std::string_view::npos || !report.mend.empty()) continue;
      report.mend = fmt::format("pip install '{}>={}'", d.name, row->versions.substr(below + 1));
      report.mend_why = row->fix;
    }
  }
}

}  // namespace

void check_picked_files(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  for (const Kind kind : {Kind::kPicksByCuda, Kind::kPicksNearCuda})
    for (const Knowledge* const row : known_of(d.name, d.version, kind)) by_cuda(site, package, *row, report);
  by_gpu(site, package, report);
  taken_without_code(site, package, report);
}

}  // namespace flashfit::doctor::environment
