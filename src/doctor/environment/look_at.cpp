#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/base/printable.hpp"
#include "doctor/environment/added_folders.hpp"
#include "doctor/environment/addressed_mend.hpp"
#include "doctor/environment/environment.hpp"
#include "doctor/environment/host_checks.hpp"
#include "doctor/environment/hub_kernels.hpp"
#include "doctor/environment/installed_torch.hpp"
#include "doctor/environment/site.hpp"
#include "doctor/environment/system.hpp"
#include "doctor/environment/unnamed_modules.hpp"
#include "doctor/rules/loads_on.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileTree;

/// Fills what was not asked for with what the environment and the machine are.
void complete(const EnvironmentQuestion& asked, Environment& environment) {
  doctor::Question& q = environment.question;
  const auto assume = [&](std::string line) { environment.assumed.push_back(std::move(line)); };
  const DriverAnswer& driver = environment.system.driver;
  if (q.gpus.empty() && !driver.gpus.empty()) {
    for (const LiveGpu& gpu : driver.gpus)
      if (std::none_of(q.gpus.begin(), q.gpus.end(), [&](const auto& g) { return g.asked == gpu.name; }))
        q.gpus.push_back({gpu.name, {gpu.name, gpu.cc}});
    assume("the GPUs are this machine's");
    if (q.driver == 0 && driver.cuda != 0) {
      q.driver = driver.cuda;
      q.driver_text = driver.version;
      assume("the driver is this machine's");
    }
  }
  if (q.gpus.empty()) assume("no GPU was named and none is here: GPU code is not judged (--gpu)");
  if (q.driver == 0) assume("no driver was given: none is judged (--driver)");
  if (!q.platform) {
    if (auto platform = doctor::parse_platform("linux_" + asked.arch)) q.platform = std::move(*platform);
    if (q.platform && environment.system.musl && environment.system.glibc.empty())
      q.platform->system = doctor::Platform::System::kMusl;
    if (const auto whole =
            q.platform ? doctor::with_glibc(*q.platform, environment.system.glibc) : fail(Code::kInvalidArgument, ""))
      q.platform = *whole;
    assume("the platform is the environment's");
  }
  if (!q.python)
    if (auto python = doctor::parse_python(environment.prefix.python)) q.python = std::move(*python);
  if (!q.python) assume("no Python is known for it: none is judged (--python)");
  if (q.x86_level == 0) q.x86_level = environment.system.x86_level;
}

/// Reads packages folder after folder: what comes later in sys.path is hidden.
class PackageReader {
 public:
  PackageReader(const FileTree& tree, const EnvironmentQuestion& asked, Environment& environment)
      : tree_(tree), asked_(asked), environment_(environment) {}

  std::vector<Package> read() {
    for (const std::string& folder : environment_.prefix.packages) add(folder, find_native_files(tree_, folder));
    std::vector<AddedFolder> added;
    for (const std::string& folder : environment_.prefix.packages)
      for (AddedFolder& one : added_folders(tree_, folder, environment_.unread)) added.push_back(std::move(one));
    for (const AddedFolder& one : added) add_outside(one);
    return std::move(packages_);
  }

 private:
  std::vector<FileFacts> facts_of(Walked walked, const std::string& folder) {
    environment_.files += walked.seen;
    std::move(walked.unread.begin(), walked.unread.end(), std::back_inserter(environment_.unread));
    return read_file_facts(tree_, walked.files, asked_.cache, "environment " + folder, asked_.progress);
  }

  void add(const std::string& folder, Walked walked) {
    auto distributions = read_distributions(tree_, folder, environment_.unread);
    // Of two in one folder, one is asked for. What a folder before has is hidden with its files, which nobody imports.
    const auto before = names_;
    const auto is_hidden = [&](const Distribution& d) { return before.contains(d.name); };
    std::erase_if(distributions, [&](const Distribution& d) { return !is_hidden(d) && !names_.insert(d.name).second; });
    environment_.installed += distributions.size() - static_cast<std::size_t>(std::count_if(
                                                         distributions.begin(), distributions.end(), is_hidden));
    for (const Distribution& d : distributions)
      for (const std::string& path : recorded_outside(tree_, d)) {
        const dynamic_loader::Resolved at = tree_.resolve(path);
        if (at.node.kind != dynamic_loader::FileKind::kFile) continue;
        ++walked.seen;
        walked.files.push_back({path, at.node.id, at.node.size, at.node.stamp, at.node.changed});
      }
    auto here = to_packages(tree_, std::move(distributions), folder, facts_of(std::move(walked), folder));
    std::erase_if(here, [&](const Package& p) { return !p.distribution.info.empty() && is_hidden(p.distribution); });
    find_unnamed_modules(tree_, here);
    std::move(here.begin(), here.end(), std::back_inserter(packages_));
  }

  /// Files of an editable install are those of the package whose RECORD lists the file that leads there.
  void add_outside(const AddedFolder& added) {
    const auto& known = environment_.prefix.packages;
    if (std::find(known.begin(), known.end(), added.path) != known.end()) return;
    const dynamic_loader::Resolved at = tree_.resolve(added.path);
    Walked walked;
    if (at.node.kind == dynamic_loader::FileKind::kFolder) {
      walked = find_native_sources(tree_, added.path, environment_.prefix.path);
    } else {
      walked = {.files = {{added.path, at.node.id, at.node.size, at.node.stamp, at.node.changed}}, .seen = 1};
    }
    Package* const owner = owner_of(added.by);
    if (owner == nullptr) return add(added.path, std::move(walked));
    for (FileFacts& facts : facts_of(std::move(walked), added.path))
      if (!facts.binaries.empty() || !facts.error.empty()) owner->files.push_back(std::move(facts));
  }

  Package* owner_of(const std::string& file) {
    for (Package& package : packages_) {
      bool owns = false;
      for_each_recorded(tree_, package.distribution, [&](const Recorded& recorded) { owns |= recorded.path == file; });
      if (owns) return &package;
    }
    return nullptr;
  }

  const FileTree& tree_;
  const EnvironmentQuestion& asked_;
  Environment& environment_;
  std::vector<Package> packages_;
  std::unordered_set<std::string> names_;
};

/// Compilers and copies of the driver among the packages' files.
void add_tools(const std::vector<Package>& packages, System& system) {
  for (const Package& package : packages)
    for (const FileFacts& file : package.files) {
      const std::string shown = printable(file.path, 300);
      if (const auto kind = doctor::compiler_named(file.path))
        system.tools.push_back(
            {*kind, shown, package.distribution.name, file.binaries.empty() ? 0 : file.binaries[0].compiler});
      const std::string name = file.path.substr(file.path.rfind('/') + 1);
      if (name.starts_with("libcuda.so")) system.driver_files.push_back({origin_of(file.path), shown, ""});
    }
}

/// Names under which the packages have libraries.
void add_libraries(const Site& site, std::set<std::string>& names) {
  for (const Package& package : site.packages)
    for (const FileFacts& file : package.files)
      for (const Binary& binary : file.binaries) {
        if (binary.kind != doctor::BinaryKind::kElf && binary.kind != doctor::BinaryKind::kPe) continue;
        names.insert(file.path.substr(file.path.rfind('/') + 1));
        if (!binary.soname.empty()) names.insert(binary.soname);
      }
}

bool needs_nvidia(const Binary& binary) {
  return std::any_of(binary.needed.begin(), binary.needed.end(), [](const std::string& library) {
    return doctor::find_cuda_library(library, 12) != nullptr || library == "libcuda.so.1";
  });
}

PackageReport describe(const Distribution& d, const std::string& version, doctor::TargetReport judged) {
  PackageReport report{.name = d.name, .version = version, .folder = d.folder, .report = std::move(judged)};
  for (const Binary& binary : report.report.target.binaries) {
    report.gpu_code |= !binary.containers.empty();
    report.torch |= binary.extension.torch_abi != doctor::TorchAbi::kNone;
    report.nvidia |= needs_nvidia(binary);
  }
  return report;
}

/// What a Windows process of this environment searches: python.exe's folder, those that conda's Python adds, and what
/// PyTorch's import adds.
std::optional<DllSearch> dlls_of(const FileTree& tree, const Environment& environment) {
  const auto& platform = environment.question.platform;
  if (!platform || platform->system != doctor::Platform::System::kWindows) return std::nullopt;
  DllSearch search{&tree, {}};
  if (environment.prefix.kind != Prefix::Kind::kFolder)
    for (const char* folder : {"", "/DLLs", "/Library/bin"})
      search.view.folders.push_back(environment.prefix.path + folder);
  for (const std::string& site : environment.prefix.packages) search.view.folders.push_back(site + "/torch/lib");
  return search;
}

/// What the loader makes of the imports; null where the system is not this tree's, or has no glibc's loader.
std::shared_ptr<const Imports> imports_of(const FileTree& tree, const EnvironmentQuestion& asked,
                                          Environment& environment, std::vector<Package>& packages) {
  const auto& other = asked.asked.platform;
  if (other && (other->system != doctor::Platform::System::kGlibc || other->arch != asked.arch)) {
    if (other->system != doctor::Platform::System::kWindows)
      environment.assumed.emplace_back("another system was described: what its loader would load is not judged");
    return nullptr;
  }
  const doctor::Question& q = environment.question;
  ImportSetting setting;
  setting.view = {.machine = asked.arch,
                  .library_path = asked.variables.library_path,
                  .preload = asked.variables.preload,
                  .execstack_tunable = asked.variables.tunables.find("glibc.rtld.execstack=2") != std::string::npos,
                  .driver_comes_later = true};
  if (other) {
    setting.view.library_path.clear();
    setting.view.preload.clear();
    setting.packages_alone = true;
    environment.assumed.emplace_back(
        "another system was described: of what its loader would load only what the packages want of each other is "
        "judged");
  }
  if (q.x86_level != 0) setting.view.x86_level = q.x86_level;
  if (!is_file(tree, "/etc/ld.so.cache")) setting.view.cache = dynamic_loader::CacheUse::kConfigured;
  if (!is_file(tree, dynamic_loader::usual_interpreter(asked.arch))) return nullptr;
  setting.python = interpreter_of(tree, environment.prefix);
  setting.sites = environment.prefix.packages;
  auto memo = std::make_shared<dynamic_loader::TreeMemo>(tree, dynamic_loader::elf_machine(asked.arch));
  for (Package& package : packages) {
    const bool is_torch = package.distribution.name == "torch";
    if (is_torch && setting.torch.empty()) setting.torch = package.distribution.folder + "/torch";
    for (FileFacts& file : package.files) {
      // One for another system is FF202.
      const bool alien = !file.binaries.empty() && doctor::is_alien(file.binaries[0], q.platform);
      if (is_torch && !alien && file.path.starts_with(setting.torch + "/_C.")) setting.torch_module = file.path;
      if (!file.object || file.binaries.empty() || file.binaries[0].machine != asked.arch) continue;
      memo->know(file.id, std::make_shared<const dynamic_loader::Object>(std::move(*file.object)));
      file.object.reset();
    }
  }
  return std::make_shared<const Imports>(std::move(memo), std::move(setting));
}

/// The worst first; of equals PyTorch, which others were built against, then who has more wrong with it.
bool is_before(const PackageReport& a, const PackageReport& b) {
  const auto misfits = [](const PackageReport& r) {
    return std::count_if(r.report.problems.begin(), r.report.problems.end(),
                         [](const doctor::Problem& p) { return p.severity == doctor::Severity::kMisfit; });
  };
  if (a.report.verdict != b.report.verdict) return a.report.verdict > b.report.verdict;
  if (a.report.verdict == Verdict::kFits) return a.name < b.name;
  if ((a.name == "torch") != (b.name == "torch")) return a.name == "torch";
  return misfits(a) != misfits(b) ? misfits(a) > misfits(b) : a.name < b.name;
}

bool is_worth_saying(const PackageReport& r) {
  return r.concerned() || r.report.verdict != Verdict::kFits || !r.report.problems.empty();
}

void add_hub_kernels(const FileTree& tree, const EnvironmentQuestion& asked, const Site& site,
                     Environment& environment) {
  const Variables& v = asked.variables;
  if (v.hub_cache.empty() && v.home.empty()) return;
  for (const HubKernel& kernel :
       read_hub_kernels(tree, site, v.hub_cache.empty() ? v.home + "/.cache/huggingface/hub" : v.hub_cache))
    environment.packages.push_back(
        describe(kernel.package.distribution, "revision " + kernel.revision, judge_hub_kernel(site, kernel)));
}

System system_of(const FileTree& tree, const EnvironmentQuestion& asked, const Prefix& prefix) {
  System system{.os = os_of(tree),
                .glibc = glibc_of(tree),
                .musl = has_musl(tree),
                .container = container_of(tree),
                .driver = asked.driver};
  Processor processor = asked.live ? processor_here() : processor_of(tree);
  system.processor = std::move(processor.name);
  system.x86_level = processor.x86_level;
  system.driver_files = find_driver_files(tree, folders_of(asked.variables.library_path));
  system.tools =
      find_toolkits(tree, asked.variables.cuda_home, prefix.kind == Prefix::Kind::kFolder ? "" : prefix.path);
  return system;
}

}  // namespace

std::size_t Environment::culprits() const {
  return static_cast<std::size_t>(std::count_if(
      packages.begin(), packages.end(), [](const PackageReport& r) { return r.report.verdict != Verdict::kFits; }));
}

Environment look_at(const FileTree& tree, const EnvironmentQuestion& asked) {
  Environment environment{.question = asked.asked};
  const std::string path = asked.path.empty() ? active_prefix(tree, asked.variables) : asked.path;
  if (!path.empty()) environment.prefix = find_prefix(tree, path);
  for (const std::string& folder : add_by_variables(tree, asked.variables, environment.prefix))
    environment.assumed.push_back("packages in " + printable(folder, 300) + " go before those of the environment");
  if (const std::string& why = environment.prefix.unread; !why.empty())
    environment.unread.push_back("pyvenv.cfg, which tells the Python and whether a system's packages are seen: " + why);
  environment.system = system_of(tree, asked, environment.prefix);
  if (environment.prefix.kind == Prefix::Kind::kNone) {
    environment.problems = host_problems(environment.system, environment.question);
    environment.problems.insert(
        environment.problems.begin(),
        {"FF714", doctor::Severity::kUnknown,
         path.empty() ? std::string("no environment is active, and no python3 is in PATH")
                      : printable(path, 300) + ": no prefix of Python, and no package is installed in it",
         "", "--env PATH of a virtual environment, a conda prefix or a site-packages folder"});
    environment.verdict = Verdict::kUnknown;
    return environment;
  }
  complete(asked, environment);
  Site site{.prefix = environment.prefix.path, .packages = PackageReader(tree, asked, environment).read()};
  add_tools(site.packages, environment.system);
  site.tools = environment.system.tools;
  site.libraries = system_libraries(
      tree, environment.prefix.kind == Prefix::Kind::kConda ? environment.prefix.path : "", asked.variables);
  add_libraries(site, site.libraries);
  if (environment.question.torch == nullptr)
    environment.question.torch = installed_torch(tree, site.packages, environment.unread);
  site.question = environment.question;
  site.imports = imports_of(tree, asked, environment, site.packages);
  site.dlls = dlls_of(tree, environment);
  for (const Package& package : site.packages) {
    const Distribution& d = package.distribution;
    PackageReport report = describe(d, d.version, judge_package(site, package));
    if (is_worth_saying(report)) environment.packages.push_back(std::move(report));
  }
  const std::string python = interpreter_to_name(tree, asked.variables, environment.prefix, !asked.path.empty());
  for (PackageReport& r : environment.packages) r.report.mend = addressed_mend(r.report.mend, python);
  add_hub_kernels(tree, asked, site, environment);
  std::stable_sort(environment.packages.begin(), environment.packages.end(), is_before);
  environment.problems = host_problems(environment.system, environment.question);
  environment.verdict = doctor::verdict_of(environment.problems);
  for (const PackageReport& r : environment.packages)
    environment.verdict = std::max(environment.verdict, r.report.verdict);
  return environment;
}

}  // namespace flashfit::doctor::environment
