#pragma once
// What a request's names and numbers say, without any file.
#include <string>
#include <vector>

#include "doctor/requests/request.hpp"
#include "doctor/rules/question.hpp"
#include "doctor/rules/report.hpp"

namespace flashfit::doctor::requests {

/// The one version that a request takes: "==2.6.0+cu124", "===1.0"; nothing if it may be several.
std::optional<doctor::Version> pinned(const doctor::Requirement& package);

/// The last part of an index's address where it names a build: "cu126", "cpu", "rocm6.4"; "" if none does.
std::string build_of(const Indexes& indexes);

/// Whether PyTorch comes from the index of that build alone: no other one is asked for it.
bool build_is_sole(const Indexes& indexes);

/// Whether installers take a wheel of that name there.
bool installs(const std::string& file_name, const doctor::Question& question);

/// The problems of one wheel's name.
std::vector<doctor::Problem> wheel_problems(const std::string& file_name, const doctor::Question& question);

/// Those of a name with a version: what its labels claim ("+cu124", "-cu12", "+cpu").
std::vector<doctor::Problem> label_problems(const doctor::Requirement& package, const doctor::Question& question);

/// The build of PyTorch that indexes lead to.
struct TorchBuild {
  std::string label;  ///< build_of()
  bool sole = false;  ///< build_is_sole(): where PyTorch has no such build of a release, nothing is found
};

/// Those of a request for PyTorch: there is such a release and build, it has wheels for the Python and the platform,
/// and the CUDA of its build serves driver and GPUs. `left` are the releases that the other requests leave, the newest
/// first, none where that is not known.
std::vector<doctor::Problem> torch_problems(const doctor::Requirement& package, const TorchBuild& build,
                                            const doctor::Question& question,
                                            const std::vector<doctor::Version>& left = {});

}  // namespace flashfit::doctor::requests
