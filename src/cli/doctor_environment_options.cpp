// The options of an environment: what was given, and the live driver.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <filesystem>

#include "cli/doctor_options.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "inspect/facts_cache.hpp"

namespace flashfit::cli {

void DoctorOptions::add_environment_to(CLI::App& app) {
  app.add_option("--env", env,
                 "judge this virtual environment, conda prefix or site-packages folder, package by package (default "
                 "without targets: the active one)")
      ->type_name("PATH");
  app.add_flag("--probe", probe, "with an environment: also launch an empty kernel on every GPU");
}

environment::EnvironmentQuestion DoctorOptions::environment_question() const {
  environment::EnvironmentQuestion q{.asked = given(), .variables = environment::variables_here()};
  utsname system = {};
  if (uname(&system) == 0) q.arch = system.machine;
  if (!env.empty()) {
    std::error_code error;
    q.path = std::filesystem::absolute(env, error).lexically_normal().string();
    if (!std::filesystem::exists(q.path, error)) wrong(fmt::format("--env '{}': no such folder", env));
  }
  // Another machine was described: this one's driver and processor say nothing of it.
  q.live = gpus.empty() && driver.empty() && platform.empty() && glibc.empty();
  if (probe && !q.live)
    wrong("--probe: asks this machine's driver, so it goes without --gpu, --driver, --platform and --glibc");
  constexpr int kSeconds = 20, kWithLaunch = 60;
  if (q.live) q.driver = environment::ask_live_driver(probe, probe ? kWithLaunch : kSeconds);
  q.cache = no_cache ? "" : inspect::FactsCache::default_folder();
  q.progress = progress_line();
  return q;
}

}  // namespace flashfit::cli
