// Requests without an answer: FF601, FF602, FF610; of DLLs FF620.
#include <algorithm>
#include <map>

#include "core/base/printable.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/dynamic_loader/all_problems.hpp"
#include "doctor/dynamic_loader/dll_names.hpp"
#include "doctor/dynamic_loader/driver_libraries.hpp"
#include "doctor/knowledge/cuda_libraries.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

std::string path_of(const LoadPlan& plan, int object) {
  return object == kNobody ? "" : plan.objects[static_cast<std::size_t>(object)].found.path;
}

/// "pip install nvidia-cuda-runtime-cu12 (...)"; "" of a library that no package of NVIDIA's has.
std::string package_fix(const std::string& soname, const char* folder_of_files, const char* must) {
  const doctor::CudaLibrary* const known = doctor::find_cuda_library(soname, 0);
  if (known == nullptr) return "";
  const std::string folder(known->folder.substr(0, known->folder.rfind('/') + 1));
  return fmt::format("pip install {} (it lies in {}{} of site-packages), and {}", known->package, folder,
                     folder_of_files, must);
}

Problem not_found(const LoadPlan& plan, const std::string& name, const std::vector<const LoadRequest*>& askers) {
  const LoadRequest& first = *askers.front();
  std::string message = fmt::format("needs {}, which no folder that is searched has", printable(name));
  if (name.find('/') != std::string::npos) message = fmt::format("{} is not there", printable_path(name));
  for (const Candidate& candidate : first.candidates)
    if (candidate.object->usable == Usable::kPassedOver)
      message = fmt::format("needs {}, and all that is found is {} ({})", printable(name),
                            printable_path(candidate.path), candidate.object->why);
  std::vector<std::string> others;
  for (const LoadRequest* const asked : askers) {
    std::string other = plan.short_name(asked->asked_by);
    if (other != plan.short_name(first.asked_by) && std::find(others.begin(), others.end(), other) == others.end())
      others.push_back(std::move(other));
  }
  if (!others.empty()) message += fmt::format("; so does {}", doctor::listed(others));
  if (is_of_driver(name))
    return {"FF601", Severity::kHost, message, path_of(plan, first.asked_by),
            "NVIDIA's driver, whose library it is; in a container, the GPU handed to it (--gpus all)"};
  return {"FF601", Severity::kMisfit, message, path_of(plan, first.asked_by),
          package_fix(name, "lib", "its folder on the search path, unless what imports it loads it before")};
}

Problem dll_not_found(const LoadPlan& plan, const std::string& name, const LoadRequest& asked) {
  std::string fix = package_fix(soname_of_dll(name), "bin", "os.add_dll_directory() of that folder before the import");
  if (fix.empty() && is_of_visual_c(name)) fix = "Microsoft's Visual C++ Redistributable";
  return {"FF620", Severity::kMisfit,
          fmt::format("needs {}, which is neither Windows' own nor in a folder that is searched", printable(name)),
          path_of(plan, asked.asked_by), fix};
}

Problem broken(const LoadPlan& plan, const LoadRequest& asked, const Candidate& first) {
  return {
      "FF602", Severity::kMisfit,
      fmt::format("needs {}, and the search ends at {} (by {}): {}", printable(asked.name), printable_path(first.path),
                  describe(plan, first.by, first.owner, asked.asked_by), first.object->why),
      path_of(plan, asked.asked_by), "take that file, or its folder, off the search path"};
}

}  // namespace

void check_not_found(const LoadPlan& plan, PlanMark since, std::vector<Problem>& problems) {
  std::map<std::string, std::vector<const LoadRequest*>> absent;
  for (std::size_t i = since.requests; i < plan.requests.size(); ++i) {
    const LoadRequest& asked = plan.requests[i];
    if (!asked.failed() || asked.by_string) continue;
    const auto stop = std::find_if(asked.candidates.begin(), asked.candidates.end(),
                                   [](const Candidate& c) { return c.object->usable == Usable::kBroken; });
    if (asked.preload) {
      problems.push_back(
          {"FF610", Severity::kNote,
           fmt::format("{} is to be preloaded and cannot be: the loader says so and goes on", printable(asked.name)),
           "", "take it out of LD_PRELOAD or /etc/ld.so.preload"});
    } else if (plan.windows) {
      problems.push_back(dll_not_found(plan, asked.name, asked));
    } else if (stop != asked.candidates.end()) {
      problems.push_back(broken(plan, asked, *stop));
    } else {
      absent[asked.name].push_back(&asked);
    }
  }
  for (const auto& [name, askers] : absent) problems.push_back(not_found(plan, name, askers));
  for (std::size_t i = since.objects; i < plan.objects.size(); ++i)
    if (const Candidate& found = plan.objects[i].found; !found.object->why.empty())
      problems.push_back(
          {"FF602", Severity::kUnknown, "what it needs cannot be read: " + found.object->why, found.path, ""});
  if (!plan.cut.empty())
    problems.push_back({"FF602", Severity::kUnknown, "not followed to its end: " + plan.cut, "", ""});
}

}  // namespace flashfit::doctor::dynamic_loader
