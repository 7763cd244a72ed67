#include "cli/doctor/environment.hpp"
#include "core/base/printable.hpp"
#include "core/gpu/driver_versions.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;
using doctor::environment::DriverAnswer;
using doctor::environment::Environment;

std::string or_empty(CudaVersion version) { return version == 0 ? "" : str(version); }

const char* name_of(DriverAnswer::State state) {
  constexpr const char* kNames[] = {"not-asked", "no-library", "answered", "timed-out", "crashed"};
  return kNames[static_cast<std::size_t>(state)];
}

Json driver_json(const DriverAnswer& d) {
  Json gpus = Json::array();
  for (const doctor::environment::LiveGpu& gpu : d.gpus)
    gpus.push_back(Json{{"name", gpu.name},
                        {"compute_capability", gpu.cc.str()},
                        {"compute_mode", gpu.compute_mode},
                        {"mig", gpu.mig()}});
  return {{"state", name_of(d.state)},     {"status", d.status},       {"why", d.why}, {"path", d.path},
          {"version", d.version},          {"cuda", or_empty(d.cuda)}, {"gpus", gpus}, {"launched", d.launched},
          {"launch_error", d.launch_error}};
}

Json system_json(const doctor::environment::System& s) {
  Json files = Json::array(), tools = Json::array();
  for (const auto& file : s.driver_files)
    files.push_back(Json{{"path", file.path}, {"origin", name_of(file.origin)}, {"version", file.version}});
  for (const auto& tool : s.tools)
    tools.push_back(Json{{"kind", name_of(tool.kind)},
                         {"path", tool.path},
                         {"package", tool.package},
                         {"cuda", or_empty(tool.version)}});
  return {{"os", s.os},
          {"glibc", s.glibc},
          {"container", s.container},
          {"processor", s.processor},
          {"x86_level", s.x86_level},
          {"driver", driver_json(s.driver)},
          {"libcuda", files},
          {"tools", tools}};
}

Json packages_json(const Environment& found) {
  Json packages = Json::array();
  for (const auto& r : found.packages)
    packages.push_back(Json{{"name", r.name},
                            {"version", r.version},
                            {"verdict", name_of(r.report.verdict)},
                            {"gpu_code", r.gpu_code},
                            {"torch", r.torch},
                            {"nvidia", r.nvidia},
                            {"mend_why", r.report.mend_why}});
  return packages;
}

}  // namespace

std::string environment_json(const Environment& found, const DoctorReport& report) {
  Json json{{"verdict", name_of(found.verdict)}};
  Json cleared = Json::array(), not_cleared = Json::array(), culprits = Json::array();
  for (const auto& r : found.packages) {
    if (!r.fits()) culprits.push_back(r.name);
    if (r.cleared()) cleared.push_back(r.name);
    if (r.not_cleared()) not_cleared.push_back(r.name);
  }
  json["environment"] = Json{{"prefix", printable(found.prefix.path, 4096)},
                             {"kind", name_of(found.prefix.kind)},
                             {"python", found.prefix.python},
                             {"installed", found.installed},
                             {"files", found.files},
                             {"problems", problems_json(found.problems)},
                             {"culprits", culprits},
                             {"cleared", cleared},
                             {"not_cleared", not_cleared},
                             {"packages", packages_json(found)},
                             {"unread", found.unread},
                             {"system", system_json(found.system)}};
  return doctor_json(report, json);
}

}  // namespace flashfit::cli
