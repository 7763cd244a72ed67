// FF620: DLLs that the modules of a package for Windows import and that no folder has which is searched.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/dynamic_loader/dll_names.hpp"
#include "doctor/environment/site.hpp"

namespace flashfit::doctor::environment {
namespace {

/// python311.dll, which the process has, lies where the base environment is.
bool is_pythons(const std::string& dll) { return lower(dll).starts_with("python3"); }

/// The DLLs that the module's import does not find, each with the file that needs it.
std::map<std::string, std::string> not_found(const DllSearch& search, const std::string& module) {
  std::map<std::string, std::string> missing;
  const dynamic_loader::LoadPlan plan = plan_dlls(*search.tree, search.view, {module});
  for (const dynamic_loader::LoadRequest& asked : plan.requests)
    if (asked.failed() && asked.asked_by != dynamic_loader::kNobody && !is_pythons(asked.name))
      missing.emplace(asked.name, plan.objects[static_cast<std::size_t>(asked.asked_by)].found.path);
  return missing;
}

}  // namespace

void check_dlls(const Site& site, const Package& package, doctor::TargetReport& report) {
  if (!site.dlls) return;
  std::map<std::string, std::string> missing;
  bool some_loads = false, concerned = false;
  for (const Binary& binary : report.target.binaries) {
    if (binary.kind != doctor::BinaryKind::kPe) continue;
    concerned |= !binary.containers.empty();
    if (!is_module(binary) || !is_of_this_python(binary, site.question)) continue;
    auto its = not_found(*site.dlls, package.distribution.folder + "/" + binary.path);
    // What some package has is found where that one's folder is added before; what CUDA's packages bring is FF330.
    std::erase_if(its, [&](const auto& one) {
      return has_library(site, binary, one.first) || dynamic_loader::is_of_visual_c(one.first) ||
             doctor::find_cuda_library(dynamic_loader::soname_of_dll(one.first), binary.toolkit / 1000) != nullptr;
    });
    some_loads |= its.empty();
    missing.merge(std::move(its));
  }
  for (const auto& [name, asked_by] : missing)
    report.problems.push_back(
        {"FF620",
         some_loads  ? Severity::kNote
         : concerned ? Severity::kMisfit
                     : Severity::kDegrades,
         fmt::format("needs {}, which is neither Windows' own nor any package's here", printable(name)),
         package.relative(asked_by), "the package or the program that brings " + printable(name)});
}

}  // namespace flashfit::doctor::environment
