// The options of an environment: what was given, and the live driver.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <filesystem>

#include "cli/doctor/options.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "doctor/dynamic_loader/real_tree.hpp"
#include "doctor/facts/facts_cache.hpp"

namespace flashfit::cli {

void DoctorOptions::add_environment_to(CLI::App& app) {
  app.add_option("--env", env,
                 "judge this virtual environment, conda prefix or site-packages folder, package by package (default "
                 "without targets: the active one)")
      ->type_name("PATH");
  app.add_option("--root", root,
                 "the root file system that the environment lies in, such as a mounted image or /proc/PID/root "
                 "(default: this machine's); --env is a path in it")
      ->type_name("FOLDER");
  app.add_flag("--probe", probe, "with an environment: also launch an empty kernel on every GPU");
}

doctor::environment::Variables DoctorOptions::variables() const {
  doctor::environment::Variables here = doctor::environment::variables_here();
  std::error_code error;
  if (!active.empty() && !std::filesystem::exists(active, error))
    wrong("--active", active, "must be a virtual environment, a prefix, a folder of packages or an interpreter");
  if (!active.empty()) here.asks = std::filesystem::absolute(active, error).lexically_normal().string();
  return here;
}

doctor::environment::EnvironmentQuestion DoctorOptions::environment_question() const {
  doctor::environment::EnvironmentQuestion q{.asked = given(), .variables = variables()};
  utsname system = {};
  if (uname(&system) == 0) q.arch = system.machine;
  if (std::error_code error; !std::filesystem::is_directory(root, error))
    wrong("--root", root, "must be a folder that holds a root file system");
  if (!env.empty()) {
    std::error_code error;
    q.path = root == "/" ? std::filesystem::absolute(env, error).lexically_normal().string()
                         : ("/" / std::filesystem::path(env)).lexically_normal().string();
    if (doctor::dynamic_loader::RealTree(root).resolve(q.path).node.kind == doctor::dynamic_loader::FileKind::kNone)
      wrong(fmt::format("--env '{}': no such folder", env));
  }
  // Another machine was described: this one's driver and processor say nothing of it.
  q.live = gpus.empty() && driver.empty() && platform.empty() && glibc.empty() && root == "/";
  if (probe && !q.live)
    wrong("--probe: asks this machine's driver, so it goes without --gpu, --driver, --platform, --glibc and --root");
  constexpr int kSeconds = 20, kWithLaunch = 60;
  if (q.live) q.driver = doctor::environment::ask_live_driver(probe, probe ? kWithLaunch : kSeconds);
  q.cache = no_cache ? "" : doctor::FactsCache::default_folder();
  q.progress = progress_line();
  return q;
}

}  // namespace flashfit::cli
