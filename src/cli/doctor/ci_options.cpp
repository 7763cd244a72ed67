#include "cli/doctor/ci_options.hpp"

#include "cli/options.hpp"
#include "doctor/requests/policy.hpp"

namespace flashfit::cli {

void CiOptions::add_to(CLI::App& app) {
  app.add_option("--policy", policy, "the machines that a fleet has, as TOML or JSON: docs/doctor-in-ci.md")
      ->type_name("FILE");
  app.add_option("--format", format, "text, json, github (annotations) or sarif (2.1.0)")
      ->type_name("FORMAT")
      ->check([](const std::string& given) {
        return given == "text" || given == "json" || given == "github" || given == "sarif"
                   ? std::string()
                   : "'" + given + "': text, json, github or sarif is accepted";
      });
  app.add_flag("--fetch", fetch, "let pip download the wheels that lists ask for, to judge them by content");
}

std::vector<std::pair<std::string, DoctorOptions>> CiOptions::machines(const DoctorOptions& given) const {
  if (given.json && format != "text" && format != "json") wrong("--format", format, "does not go with --json");
  if (policy.empty()) return {{"", given}};
  if (!given.html.empty()) wrong("--html", given.html, "does not go with --policy: it shows one machine");
  const auto machines = doctor::requests::read_policy(policy);
  if (!machines) wrong("--policy " + machines.error().message);
  std::vector<std::pair<std::string, DoctorOptions>> out;
  for (const doctor::requests::PolicyMachine& machine : *machines) {
    DoctorOptions options = given;
    const auto set = [](std::string& option, const std::string& value) {
      if (!value.empty()) option = value;
    };
    if (!machine.gpus.empty()) options.gpus = machine.gpus;
    set(options.driver, machine.driver);
    set(options.python, machine.python);
    set(options.platform, machine.platform);
    set(options.glibc, machine.glibc);
    set(options.torch, machine.torch);
    out.emplace_back(machine.name, std::move(options));
  }
  return out;
}

}  // namespace flashfit::cli
