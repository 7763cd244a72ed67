// What is known of a request for PyTorch: FF755, FF756, and FF101, FF105 by the CUDA of its build.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "core/base/printable.hpp"
#include "core/gpu/driver_versions.hpp"
#include "doctor/gpu_code/toolkit_gpus.hpp"
#include "doctor/gpu_code/toolkit_versions.hpp"
#include "doctor/gpu_code/what_runs_where.hpp"
#include "doctor/knowledge/torch_releases.hpp"
#include "doctor/packaging/build_label.hpp"
#include "doctor/requests/by_name.hpp"
#include "doctor/requests/known_versions.hpp"
#include "doctor/requests/torch_bounds.hpp"

namespace flashfit::doctor::requests {
namespace {

/// The table is of wheels for x86-64 Linux; with no platform named nothing is known.
bool is_for(const Question& question) {
  return question.platform && question.platform->system == doctor::Platform::System::kGlibc &&
         question.platform->arch == "x86_64";
}

/// Why none of the release's wheels installs on the system, whatever the Python: there is none for it. "" if one does,
/// or if that is not known. `label` is the build's, "" for that of the package index.
std::string system_misfit(const TorchRelease* release, const std::string& label, const Question& question) {
  using System = doctor::Platform::System;
  if (!question.platform) return "";
  const doctor::Platform& here = *question.platform;
  if (here.system == System::kMusl)
    return fmt::format("PyTorch's wheels for Linux are manylinux, for glibc; yours is {}", here.str());
  if (here.system == System::kMacos && label.starts_with("cu"))
    return fmt::format("PyTorch has no builds for CUDA on macOS: +{} is for Linux and Windows", printable(label, 20));
  // Since 2.7 all are manylinux_2_28.
  const bool newer = release != nullptr && (release->major > 2 || (release->major == 2 && release->minor >= 7));
  if (here.system == System::kGlibc && newer && here.known_version() &&
      (here.major < 2 || (here.major == 2 && here.minor < 28)))
    return fmt::format("wheels of torch 2.7 and later are manylinux_2_28: they need glibc 2.28 or later; yours is {}",
                       here.str());
  return "";
}

/// The CUDA that a build's name says: 12060 for "cu126"; 0 for none.
CudaVersion cuda_of_build(const std::string& build) {
  doctor::WheelName name{.name = "torch"};
  name.version.local = build;
  const auto label = doctor::label_of(name);
  return label.cuda ? label.cuda->major * 1000 + std::max(label.cuda->minor, 0) * 10 : 0;
}

struct Build {
  std::string words;  ///< "torch 2.11.0 of the package index, built for CUDA 13.0"
  const TorchRelease* release = nullptr;
  CudaVersion cuda = 0;
};

/// Why the build has nothing for the GPU; "" if it has, or if that is not known.
std::string gpu_misfit(const Build& build, ComputeCapability gpu) {
  const auto code =
      build.release == nullptr ? std::vector<doctor::CodeEntry>() : doctor::code_of_torch(*build.release, build.cuda);
  if (code.empty()) {
    if (doctor::toolkit_knows(build.cuda, gpu)) return "";
    return fmt::format("CUDA {} does not compile for {}", str(build.cuda), gpu.str());
  }
  if (doctor::best_of(code, {"", gpu, 0}).best != doctor::Best::kNo) return "";
  return fmt::format("its code is for {}; the GPU is {}", targets_of_torch(*build.release, build.cuda), gpu.str());
}

void judge_driver(const Build& build, const Question& question, std::vector<Problem>& problems) {
  if (std::string why = doctor::toolkit_misfit(build.cuda, question.driver); !why.empty())
    problems.push_back({"FF105", Severity::kMisfit, fmt::format("{}: {}", build.words, why), "",
                        "a newer driver, or a build for an older CUDA: PyTorch's own indexes have some"});
}

void judge_gpus(const Build& build, const Question& question, std::vector<Problem>& problems) {
  for (const doctor::AskedGpu& gpu : question.gpus) {
    const std::string why = gpu_misfit(build, gpu.gpu.cc);
    if (why.empty()) continue;
    problems.push_back({"FF101", question.survey ? Severity::kNote : Severity::kMisfit,
                        fmt::format("{}: {}", build.words, why), "",
                        "a build for another CUDA: PyTorch's own indexes have some"});
    if (question.survey) return;
  }
}

bool takes_python(const TorchRelease& release, const Question& question) {
  if (release.first_python == 0) return true;
  if (!question.python || question.python->implementation != doctor::Python::Implementation::kCPython) return true;
  return question.python->major == 3 && question.python->minor >= release.first_python &&
         question.python->minor <= release.last_python;
}

/// The newest patch of the release that is left, or of all; nothing if none is left.
std::optional<doctor::Version> patch_of(const TorchRelease& release, const std::vector<doctor::Version>& left) {
  if (left.empty()) return doctor::parse_version(release.str()).value_or(doctor::Version{});
  const auto found = std::find_if(left.begin(), left.end(), [&](const doctor::Version& version) {
    return doctor::torch_release_of(version) == &release;
  });
  return found == left.end() ? std::nullopt : std::optional(*found);
}

std::vector<Problem> judge_pinned(const doctor::Version& version, const TorchBuild& build, const Question& question) {
  std::vector<Problem> problems;
  if (std::string why = doctor::no_torch_release(version); !why.empty()) {
    problems.push_back(
        {"FF755", Severity::kMisfit, fmt::format("torch {}: {}", printable(version.text, 40), why), "", ""});
    return problems;
  }
  const TorchRelease* release = doctor::torch_release_of(version);
  std::string own = version.local.empty() ? build.label : version.local;
  if (std::string why = system_misfit(release, own, question); !why.empty()) {
    problems.push_back({"FF755", Severity::kMisfit, fmt::format("torch {}: {}", printable(version.text, 40), why), "",
                        question.platform->system == doctor::Platform::System::kMacos
                            ? "PyTorch without CUDA, or another machine"
                            : "a base image with glibc 2.28 or later"});
    return problems;
  }
  if (!is_for(question)) return problems;
  if (std::string why = doctor::no_torch_build(version, own); !why.empty()) {
    if (!version.local.empty() || build.sole) {
      problems.push_back({"FF755", Severity::kMisfit, fmt::format("torch {}: {}", printable(version.text, 40), why), "",
                          "a build that the release has"});
      return problems;
    }
    own.clear();  // the package index is asked, too, and has the release
  }
  if (release != nullptr && !takes_python(*release, question))
    problems.push_back(
        {"FF755", Severity::kMisfit,
         fmt::format("torch {}.{} has wheels for CPython 3.{} to 3.{}; yours is {}", release->major, release->minor,
                     release->first_python, release->last_python, question.python->str()),
         "", "another Python, or another release"});
  if (own.empty()) {
    if (release == nullptr || release->cuda[0] == 0) return problems;
    const Build of_index{fmt::format("torch {} of the package index is built for CUDA {}", printable(version.text, 40),
                                     str(release->cuda[0])),
                         release, release->cuda[0]};
    judge_driver(of_index, question, problems);
    judge_gpus(of_index, question, problems);
    return problems;
  }
  const std::string whole = version.text.substr(0, version.text.find('+')) + "+" + own;
  // A version's own label is judged where every package's is.
  const auto labelled = doctor::parse_requirement("torch==" + whole);
  if (version.local.empty() && labelled)
    for (Problem& problem : label_problems(*labelled, question)) problems.push_back(std::move(problem));
  judge_gpus({"torch " + printable(whole, 80), release, cuda_of_build(own)}, question, problems);
  return problems;
}

/// Of versions of which none that is known has a wheel for the system or the Python; `newest` is one of them.
std::vector<Problem> judge_none_installs(const doctor::Version& newest, const doctor::Requirement& package,
                                         const TorchBuild& build, const Question& question) {
  std::vector<Problem> problems = judge_pinned(newest, build, question);
  std::erase_if(problems, [](const Problem& problem) { return problem.code != "FF755"; });
  // A later release may have wheels for a Python that is newer than all of these.
  const bool later = takes_newer(package) && question.python && question.python->major == 3 &&
                     question.python->minor > doctor::torch_releases().back().last_python;
  for (Problem& problem : problems) {
    problem.message = "none that is known installs, not even the newest of them: " + problem.message;
    if (later) problem.severity = Severity::kUnknown;
  }
  return problems;
}

}  // namespace

std::vector<Problem> torch_problems(const doctor::Requirement& package, const TorchBuild& build,
                                    const Question& question, const std::vector<doctor::Version>& left) {
  if (auto problem = bounds_problem(package)) return {std::move(*problem)};
  if (const auto version = pinned(package)) return judge_pinned(*version, build, question);
  if (std::string why = system_misfit(nullptr, build.label, question); !why.empty())
    return {{"FF755", Severity::kMisfit, "torch: " + why, "",
             question.platform->system == doctor::Platform::System::kMusl ? "a base image with glibc 2.28 or later"
                                                                          : "PyTorch without CUDA"}};
  if (!is_for(question)) return {};
  // What pip takes is the newest that the requests and the Python allow; other packages may narrow it further.
  std::vector<Problem> of_newest;
  std::string newest;
  std::optional<doctor::Version> without_wheel;  // the newest that the versions allow and that does not install
  bool may_be_older = false;                     // than what is known of wheels
  for (const TorchRelease& release : std::views::reverse(doctor::torch_releases())) {
    const auto version = patch_of(release, left);
    if (!version || doctor::refusing(package.versions, *version) != nullptr) continue;
    if (release.first_python == 0) {
      may_be_older = true;
      continue;
    }
    if (!takes_python(release, question) || !system_misfit(&release, build.label, question).empty()) {
      if (!without_wheel) without_wheel = version;
      continue;
    }
    const std::string& text = version->text;
    std::vector<Problem> found = judge_pinned(*version, build, question);
    if (newest.empty()) {
      newest = text;
      of_newest = std::move(found);
      if (of_newest.empty() || question.survey) return {};
    } else if (found.empty()) {
      return {{"FF756", Severity::kDegrades,
               fmt::format("not pinned, and the newest that is known does not fit: {}", of_newest[0].message), "",
               "torch==" + text}};
    }
  }
  if (newest.empty() && without_wheel && !may_be_older)
    return judge_none_installs(*without_wheel, package, build, question);
  return of_newest;
}

}  // namespace flashfit::doctor::requests
