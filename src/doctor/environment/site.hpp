#pragma once
// An environment as the checks see it: read, not yet judged.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "doctor/dynamic_loader/dll_plan.hpp"
#include "doctor/environment/cuda_tools.hpp"
#include "doctor/environment/imports.hpp"
#include "doctor/environment/packages.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/knowledge/cuda_libraries.hpp"
#include "doctor/rules/judge.hpp"

namespace flashfit::doctor::environment {

/// How the processes of an environment for Windows find DLLs.
struct DllSearch {
  const dynamic_loader::FileTree* tree = nullptr;
  dynamic_loader::DllView view;
};

struct Site {
  doctor::Question question;
  std::string prefix;                      ///< of the environment, for commands
  std::vector<Package> packages;           ///< those without machine code, too
  std::vector<CudaTool> tools;             ///< of toolkits and of packages
  std::set<std::string> libraries;         ///< names under which the environment and the system have libraries
  std::shared_ptr<const Imports> imports;  ///< null: the system is not the one that the question is about
  std::optional<DllSearch> dlls;           ///< of a question about Windows

  const Package* find(std::string_view name) const {
    for (const Package& package : packages)
      if (package.distribution.name == name) return &package;
    return nullptr;
  }
  /// "2.9.1+cu130" of the torch that is installed; "" if there is none.
  std::string torch_version() const {
    return question.torch && question.torch->version ? question.torch->version->text : "";
  }
};

/// A check of one package in its site, beside those that it shares with a wheel. Adds problems to the report, and,
/// where none is there yet, the command that mends them; each lives in a file of its own, *_check.cpp.
using PackageCheck = void (*)(const Site& site, const Package& package, doctor::TargetReport& report);

void check_picked_files(const Site& site, const Package& package, doctor::TargetReport& report);
void check_compilers(const Site& site, const Package& package, doctor::TargetReport& report);
void check_host_code(const Site& site, const Package& package, doctor::TargetReport& report);
void check_torch_extension(const Site& site, const Package& package, doctor::TargetReport& report);
void check_torch_build(const Site& site, const Package& package, doctor::TargetReport& report);
void check_missing_libraries(const Site& site, const Package& package, doctor::TargetReport& report);
void check_compiling(const Site& site, const Package& package, doctor::TargetReport& report);
void check_dlls(const Site& site, const Package& package, doctor::TargetReport& report);
void check_loads(const Site& site, const Package& package, doctor::TargetReport& report);
void check_companions(const Site& site, const Package& package, doctor::TargetReport& report);
void check_elsewhere(const Site& site, const Package& package, doctor::TargetReport& report);
void check_gone_modules(const Site& site, const Package& package, doctor::TargetReport& report);
void check_names(const Site& site, const Package& package, doctor::TargetReport& report);

/// The files that the package loads on the GPUs asked for, as the target that part one's rules judge; their paths are
/// those below the folder of packages.
doctor::Target target_of(const Site& site, const Package& package);

/// Where no command is known yet: pip installs the same version once more.
void mend_by_reinstalling(const Distribution& distribution, const char* why, doctor::TargetReport& report);

/// A library of CUDA that is needed, and the package that has it.
struct MissingCuda {
  std::string name;    ///< as it is asked for: "libcudart.so.12", "cudart64_12.dll"
  std::string folder;  ///< of the package, in site-packages: "nvidia/cuda_runtime/lib"
  std::string_view package;
};
/// Those that the binary needs and that neither the environment nor its system has.
std::vector<MissingCuda> missing_libraries(const Site& site, const doctor::Binary& binary);

/// Whether Python imports it, rather than some other library or nobody.
bool is_module(const doctor::Binary& binary);
/// Whether it is no module for another Python than the question's.
bool is_of_this_python(const doctor::Binary& binary, const doctor::Question& question);
/// Whether the environment or its system has a library of the name: names of DLLs have no case.
bool has_library(const Site& site, const doctor::Binary& binary, const std::string& name);

/// All of it: part one's rules as they read for what is installed, then the checks above.
doctor::TargetReport judge_package(const Site& site, const Package& package);

}  // namespace flashfit::doctor::environment
