#pragma once
// The doctor on a whole environment: a virtual environment, a conda prefix or a site-packages folder, with the machine
// or the image that it lies in. Nothing of it is run. docs/environment.md explains what is looked at and said.
#include <string>
#include <vector>

#include "doctor/dynamic_loader/file_tree.hpp"
#include "doctor/environment/cuda_tools.hpp"
#include "doctor/environment/driver_files.hpp"
#include "doctor/environment/live_driver.hpp"
#include "doctor/environment/prefix.hpp"
#include "doctor/facts/read_target.hpp"
#include "doctor/rules/judge.hpp"

namespace flashfit::doctor::environment {

/// What there is around the packages. Texts are printable; "" is unknown.
struct System {
  std::string os;                        ///< PRETTY_NAME of os-release: "Debian GNU/Linux 12 (bookworm)"
  std::string glibc;                     ///< "2.36"
  bool musl = false;                     ///< its C library is musl
  std::string container;                 ///< "docker", "podman", "kubernetes"; "" for none seen
  std::string processor;                 ///< its model's name; of a live machine alone
  int x86_level = 0;                     ///< 3 is x86-64-v3, of the processor; 0: unknown, or another machine
  DriverAnswer driver;                   ///< the live driver's answer
  std::vector<DriverFile> driver_files;  ///< where libcuda lies, the one that the loader takes first
  std::vector<CudaTool> tools;           ///< compilers of GPU code: toolkits', and those that packages bring
};

/// One installed package that has machine code of any kind, or of which something is known.
struct PackageReport {
  std::string name, version;  ///< as METADATA has them; of files of no package: the folder, and ""
  std::string folder;         ///< of packages, in the tree: the report's paths are below it
  doctor::TargetReport report;
  bool gpu_code = false;  ///< carries GPU code
  bool torch = false;     ///< needs PyTorch's libraries
  bool nvidia = false;    ///< needs NVIDIA's libraries
  bool concerned() const { return gpu_code || torch || nvidia; }
  bool fits() const { return report.verdict == doctor::Verdict::kFits; }
  /// What people suspect first and what is not it.
  bool cleared() const { return fits() && concerned() && !report.unsettled; }
  /// What nothing is known against and what may fail all the same.
  bool not_cleared() const { return fits() && concerned() && report.unsettled; }
};

struct Environment {
  Prefix prefix;
  System system;
  doctor::Question question;              ///< what the packages were judged for
  std::vector<std::string> assumed;       ///< a line for each thing of the question that was not given
  std::vector<PackageReport> packages;    ///< culprits first, the worst before others; then those that fit, by name
  std::vector<doctor::Problem> problems;  ///< of the whole: driver, tools; worst first
  std::size_t installed = 0;              ///< packages seen, with and without machine code
  std::uint64_t files = 0;                ///< files looked at
  std::vector<std::string> unread;        ///< what could not be read, printable
  doctor::Verdict verdict = doctor::Verdict::kFits;

  /// Packages whose verdict is not kFits: the first of `packages`.
  std::size_t culprits() const;
};

struct EnvironmentQuestion {
  /// What is not given in it is the environment's own: Python, platform with glibc, torch, and of a live machine the
  /// GPUs, the driver and the processor.
  doctor::Question asked;
  std::string path;  ///< in the tree: a prefix, a folder of packages or an interpreter; "" for the active one
  std::string arch = "x86_64";  ///< of the tree, where no platform is asked for: "x86_64", "aarch64"
  Variables variables;          ///< of the machine, or of the image's configuration
  bool live = false;            ///< the tree is this machine: its processor counts
  DriverAnswer driver;          ///< the live driver's answer (ask_live_driver)
  std::string cache;            ///< folder of the cache; "" for none
  doctor::Progress progress;
};

/// Looks at the environment in `tree` and judges every package of it. Never fails: what cannot be read is in `unread`,
/// and no environment at all is Prefix::kNone with Verdict::kUnknown.
Environment look_at(const dynamic_loader::FileTree& tree, const EnvironmentQuestion& asked);

}  // namespace flashfit::doctor::environment
