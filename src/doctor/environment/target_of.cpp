// Which files of an installed package count: a wheel is judged with all that it has, an installed package with what it
// loads here.
#include <algorithm>

#include "doctor/environment/site.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/knowledge/package_rows.hpp"
#include "doctor/knowledge/picked_cuda.hpp"
#include "doctor/packaging/python_module.hpp"
#include "doctor/rules/loads_on.hpp"

namespace flashfit::doctor::environment {
namespace {

using Kind = Knowledge::Kind;

/// Launchers for Windows and libraries for other machines lie in many packages. A module whose name is one for this
/// machine is what Python opens here, whatever it holds.
bool is_foreign(const Binary& binary, const doctor::Question& question) {
  if (!question.platform) return false;
  using System = doctor::Platform::System;
  const System system = question.platform->system;
  const bool linux = system == System::kGlibc || system == System::kMusl;
  if (linux && doctor::is_named_for_linux_on(binary.path, question.platform->arch)) return false;
  if (binary.kind == BinaryKind::kPe && system != System::kWindows) return true;  // one that is broken, too
  return doctor::is_alien(binary, question.platform);
}

bool on_some_gpu(const Knowledge& row, const doctor::Question& question) {
  if (row.gpus == kNoGpu) return false;
  return question.gpus.empty() || std::any_of(question.gpus.begin(), question.gpus.end(),
                                              [&](const auto& gpu) { return names_gpu(row.gpus, gpu.gpu.cc); });
}

bool is_loaded(const std::string& path, const Package& package, const Site& site) {
  const auto& [name, version] = std::tie(package.distribution.name, package.distribution.version);
  for (const Kind kind : {Kind::kPicksByGpu, Kind::kOnlyOn})
    for (const Knowledge* const row : known_of(name, version, kind))
      if (matches(row->files, path) && !on_some_gpu(*row, site.question)) return false;
  const std::string wanted = cuda_digits(site.torch_version());
  for (const Kind kind : {Kind::kPicksByCuda, Kind::kPicksNearCuda})
    for (const Knowledge* const row : known_of(name, version, kind)) {
      const std::string carried = wanted.empty() ? "" : star_of(row->files, path);
      if (carried.empty()) continue;
      const std::string picked = picked_cuda(*row, carried_cudas(*row, package.relative_paths()), wanted);
      if (!carried.starts_with(picked.empty() ? wanted : picked)) return false;
    }
  return true;
}

}  // namespace

bool is_module(const Binary& binary) {
  const auto module = doctor::parse_python_module(binary.path);
  return module && (module->stable || module->minor >= 0 || !binary.extension.python.empty());
}

bool is_of_this_python(const Binary& binary, const doctor::Question& question) {
  const auto module = doctor::parse_python_module(binary.path);
  return !module || !question.python || doctor::imports(*question.python, *module);
}

doctor::Target target_of(const Site& site, const Package& package) {
  const Distribution& d = package.distribution;
  doctor::Target target{.target = d.version.empty() ? d.name : d.name + "==" + d.version,
                        .file_name = d.version.empty() ? d.name : wheel_name_of(d),
                        .kind = doctor::TargetKind::kDistribution,
                        .metadata = d.metadata,
                        .wheel_file = d.wheel};
  target.files = package.files.size();
  for (const FileFacts& file : package.files) {
    const std::string relative = package.relative(file.path);
    if (!is_loaded(relative, package, site)) continue;
    if (!file.error.empty()) target.errors.push_back(file.error);
    for (Binary binary : file.binaries) {
      const bool object = binary.kind == BinaryKind::kObject && !doctor::is_named_as_module(binary.path);
      if (object || is_foreign(binary, site.question)) continue;
      binary.path = package.relative(binary.path);
      if (!binary.archive.empty()) binary.archive = package.relative(binary.archive);
      target.binaries.push_back(std::move(binary));
    }
  }
  return target;
}

}  // namespace flashfit::doctor::environment
