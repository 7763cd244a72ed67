#include "doctor/environment/made_environment.hpp"

#include <algorithm>

#include "core/gpu/driver_versions.hpp"

namespace flashfit::doctor::environment::test {
namespace {

const PackageReport* find(const Environment& found, const std::string& name) {
  const auto at =
      std::find_if(found.packages.begin(), found.packages.end(), [&](const auto& r) { return r.name == name; });
  return at == found.packages.end() ? nullptr : &*at;
}

std::vector<std::string> problems_of(const Environment& found, const std::string& name, bool notes) {
  const PackageReport* const package = find(found, name);
  if (package == nullptr) return {"not reported"};
  std::vector<std::string> lines;
  for (const doctor::Problem& p : package->report.problems)
    if ((p.severity == doctor::Severity::kNote) == notes)
      lines.push_back(p.code + " " + (notes ? "" : std::string(doctor::name_of(verdict_of(p.severity))) + " ") +
                      p.message);
  return lines;
}

}  // namespace

EnvironmentQuestion MadeEnvironment::question(const std::vector<std::string>& gpus, const std::string& driver) const {
  EnvironmentQuestion asked;
  asked.variables.virtual_env = "/venv";  // active: commands need not name its interpreter
  for (const std::string& gpu : gpus) asked.asked.gpus.push_back({gpu, name_gpu(gpu).value()});
  if (!driver.empty()) {
    asked.asked.driver = parse_driver(driver).value();
    asked.asked.driver_text = driver;
  }
  return asked;
}

std::vector<std::string> lines_of(const Environment& found, const std::string& name) {
  return problems_of(found, name, false);
}

std::vector<std::string> notes_of(const Environment& found, const std::string& name) {
  return problems_of(found, name, true);
}

std::vector<std::string> culprits_of(const Environment& found) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < found.culprits(); ++i) names.push_back(found.packages[i].name);
  return names;
}

std::vector<std::string> cleared_by(const Environment& found) {
  std::vector<std::string> names;
  for (const PackageReport& package : found.packages)
    if (package.cleared()) names.push_back(package.name);
  return names;
}

std::vector<std::string> not_cleared_by(const Environment& found) {
  std::vector<std::string> names;
  for (const PackageReport& package : found.packages)
    if (package.not_cleared()) names.push_back(package.name);
  return names;
}

std::string mend_of(const Environment& found, const std::string& name) {
  const PackageReport* const package = find(found, name);
  return package == nullptr ? "not reported" : package->report.mend;
}

}  // namespace flashfit::doctor::environment::test
