#include "cli/doctor/options.hpp"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "cli/doctor/torch.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "core/base/printable.hpp"
#include "core/gpu/device.hpp"
#include "core/gpu/driver_versions.hpp"
#include "doctor/dynamic_loader/real_tree.hpp"
#include "doctor/environment/addressed_mend.hpp"
#include "doctor/facts/facts_cache.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/knowledge/data.hpp"

namespace flashfit::cli {
namespace {

namespace fs = std::filesystem;
using namespace doctor;  // NOLINT(google-build-using-namespace): this file is their words' translation

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here sets variables
  return value == nullptr ? "" : value;
}

/// The version that the name of `python3` in the path leads to: python3 -> python3.11. Nothing is run.
std::string version_in_path() {
  std::string path = variable("PATH");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    std::error_code error;
    const fs::path python = fs::path(path.substr(at, end - at)) / "python3";
    if (fs::exists(python, error)) {
      const std::string name = fs::canonical(python, error).filename().string();
      constexpr std::string_view kPython = "python";
      return !error && name.starts_with(kPython) ? name.substr(kPython.size()) : "";
    }
    at = end + 1;
  }
  return "";
}

/// Python of the environment that counts as active, whose files alone tell it.
std::optional<Python> python_here(const environment::Variables& variables, std::string& whose) {
  const dynamic_loader::RealTree tree("/");
  const std::string active = active_prefix(tree, variables);
  const environment::Prefix prefix = active.empty() ? environment::Prefix{} : environment::find_prefix(tree, active);
  std::string version = prefix.python;
  if (!version.empty()) whose = fmt::format("of {} ({})", printable(active, 200), name_of(prefix.kind));
  if (version.empty()) {
    version = version_in_path();
    whose = "of python3 in the path";
  }
  const auto python = parse_python(version);
  return python ? std::optional(*python) : std::nullopt;
}

Platform platform_here() {
  utsname system = {};
  const std::string machine = uname(&system) == 0 ? system.machine : "x86_64";
  auto platform = parse_platform("linux_" + machine);
  if (!platform) return {};
  const auto whole = with_glibc(*platform, gnu_get_libc_version());
  return whole ? *whole : *platform;
}

/// One of each compute capability, named by it and by what has it.
std::vector<AskedGpu> every_capability() {
  std::map<ComputeCapability, std::string> names;
  std::map<ComputeCapability, int> counts;
  for (const NamedGpu& gpu : named_gpus()) {
    std::string& list = names[gpu.cc];
    if (++counts[gpu.cc] <= 4) list += (list.empty() ? "" : ", ") + gpu.name;
  }
  std::vector<AskedGpu> all;
  for (const auto& [cc, list] : names) all.push_back({cc.str(), {list, cc}});
  return all;
}

template <class T>
T or_wrong(Result<T> result, const char* option) {
  if (result) return std::move(*result);
  // Messages of most parsers begin with the option's own word.
  const std::string& message = result.error().message;
  wrong(message.starts_with(option + 2) ? "--" + message : fmt::format("{} {}", option, message));
}

}  // namespace

void DoctorOptions::add_to(CLI::App& app) {
  app.add_option("--gpu", gpus,
                 "a GPU (\"L40\", \"rtx 4090\"), a compute capability (\"8.9\", \"sm_89\") or \"all\"; may be repeated "
                 "(default: this machine's)")
      ->type_name("NAME")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);  // what follows is a target
  app.add_option("--driver", driver, "its release (\"535.54.03\"), branch (\"535\") or CUDA version (\"12.2\")")
      ->type_name("VERSION");
  app.add_option("--python", python, "\"3.11\", \"cp311\", \"3.13t\" (default: this environment's)")
      ->type_name("VERSION");
  app.add_option(
         "--torch", torch,
         "the PyTorch to load under: a version (\"2.6.0+cu124\"), its wheel, or where it is installed: a virtual "
         "environment, its site-packages, torch itself")
      ->type_name("WHAT");
  app.add_option("--glibc", glibc, "\"2.31\" (default: this machine's)")->type_name("VERSION");
  app.add_option("--platform", platform,
                 "linux_x86_64, linux_aarch64, win_amd64 or another platform tag (default: this "
                 "machine's)")
      ->type_name("TAG");
  app.add_option("--active", active,
                 "the environment that counts as the active one (default: the one whose command this is, VIRTUAL_ENV, "
                 "CONDA_PREFIX, that of python3 in the path)")
      ->type_name("PATH");
  app.add_flag("--json", json, "one object, schema 1: docs/doctor.md");
  app.add_flag("-v,--verbose", verbose, "notes, every binary, every problem");
  app.add_option("--knowledge", knowledge,
                 "a file as data/knowledge.json: releases of PyTorch and of what is built for it (default: built in)")
      ->type_name("FILE");
  app.add_flag("--no-cache", no_cache, "read every file anew, and remember none");
}

Question DoctorOptions::given() const {
  Question q;
  // Before anything is read that asks it.
  if (!knowledge.empty())
    if (const auto used = use_knowledge(knowledge); !used) wrong("--" + used.error().message);
  if (std::find(targets.begin(), targets.end(), "") != targets.end())
    wrong("TARGET", "", "accepted: the path of a file or a folder");
  if (std::find(gpus.begin(), gpus.end(), "all") != gpus.end()) {
    for (const std::string& name : gpus)
      if (name != "all")  // one served is enough in a survey, and this one would be lost in it
        wrong("--gpu", printable(name), "does not go with all, which is every compute capability");
    q.gpus = every_capability();
    q.survey = true;
  } else {
    for (const std::string& name : gpus)
      if (std::none_of(q.gpus.begin(), q.gpus.end(), [&](const AskedGpu& gpu) { return gpu.asked == name; }))
        q.gpus.push_back({name, or_wrong(name_gpu(name), "--gpu")});
  }
  if (!driver.empty()) {
    q.driver = or_wrong(parse_driver(driver), "--driver");
    q.driver_text = driver;
  }
  if (!platform.empty()) q.platform = or_wrong(parse_platform(platform), "--platform");
  if (!glibc.empty()) q.platform = or_wrong(with_glibc(q.platform ? *q.platform : platform_here(), glibc), "--glibc");
  if (!python.empty()) q.python = or_wrong(parse_python(python), "--python");
  if (!torch.empty()) q.torch = or_wrong(read_torch(torch), "--torch");
  return q;
}

Question DoctorOptions::question(std::vector<std::string>& assumed) const {
  Question q = given();
  if (q.gpus.empty()) {
    const auto machine = this_machine();
    for (const Gpu& gpu : machine.gpus) {
      if (std::any_of(q.gpus.begin(), q.gpus.end(), [&](const AskedGpu& g) { return g.asked == gpu.name; })) continue;
      q.gpus.push_back({gpu.name, {gpu.name, gpu.cc}});
    }
    if (!q.gpus.empty()) {
      assumed.emplace_back("the GPUs are this machine's");
      if (driver.empty() && machine.cuda != 0) {
        q.driver = machine.cuda;
        q.driver_text = machine.driver_version;
        assumed.emplace_back("the driver is this machine's");
      }
    }
  }
  if (q.driver == 0) assumed.emplace_back("no driver was given: none is judged (--driver)");
  if (!q.platform) q.platform = platform_here();
  if (platform.empty()) assumed.emplace_back("the platform is this machine's");

  std::string whose;
  if (python.empty() && platform.empty()) q.python = python_here(variables(), whose);
  if (!whose.empty() && q.python) {
    assumed.push_back("Python is that " + whose);
  } else if (!q.python) {
    assumed.emplace_back("no Python was given: none is judged (--python)");
  }
  if (!q.torch) q.torch = torch_among(targets, assumed);
  return q;
}

std::string DoctorOptions::interpreter(const Question& asked) const {
  if (!platform.empty() || !asked.python) return "";  // another machine's, or nobody's
  const dynamic_loader::RealTree tree("/");
  const environment::Variables here = variables();
  const std::string active_path = active_prefix(tree, here);
  if (active_path.empty()) return "";
  const environment::Prefix prefix = environment::find_prefix(tree, active_path);
  const auto its = parse_python(prefix.python);
  if (!its || its->major != asked.python->major || its->minor != asked.python->minor) return "";
  return interpreter_to_name(tree, here, prefix, false);
}

doctor::DoctorOptions DoctorOptions::how() const {
  return {.cache = no_cache ? "" : FactsCache::default_folder(),
          .kernels = verbose ? 64U : 8U,
          .progress = progress_line()};
}

}  // namespace flashfit::cli
