// FF105, FF210, FF211: what a wheel's name claims of CUDA, PyTorch and its ABI, where the name is all there is. Where
// the files are there, they decide.
#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/gpu_code/toolkit_versions.hpp"
#include "doctor/packaging/build_label.hpp"
#include "doctor/rules/all_checks.hpp"

namespace flashfit::doctor {
namespace {

void judge_torch(const BuildLabel& label, const Question& question, std::vector<Problem>& problems) {
  const TorchFacts& torch = *question.torch;
  if (label.torch && torch.version) {
    const int major = static_cast<int>(torch.version->release[0]);
    const int minor = torch.version->release.size() > 1 ? static_cast<int>(torch.version->release[1]) : 0;
    const bool same = label.torch->major == major && (label.torch->minor < 0 || label.torch->minor == minor);
    const bool newer = std::pair(major, minor) > std::pair(label.torch->major, label.torch->minor);
    if (!same && !(label.torch_or_newer && newer))
      problems.push_back({"FF210", Severity::kMisfit,
                          fmt::format("named for torch {}; {} is {}", label.torch->str(), question.whose_torch,
                                      printable(torch.version->text)),
                          "", fmt::format("a wheel with torch{}.{} in its name", major, minor)});
  }
  if (label.cxx11_abi && torch.cxx11_abi && *label.cxx11_abi != *torch.cxx11_abi)
    problems.push_back(
        {"FF210", Severity::kMisfit,
         fmt::format("named for the {} C++ ABI of PyTorch; {} has the {} one", *label.cxx11_abi ? "new" : "old",
                     question.whose_torch, *torch.cxx11_abi ? "new" : "old"),
         "", fmt::format("a wheel with cxx11abi{} in its name", *torch.cxx11_abi ? "TRUE" : "FALSE")});
}

/// Where no PyTorch was given: the ABI in the name against the releases of the PyTorch in the name.
void judge_abi(const BuildLabel& label, std::vector<Problem>& problems) {
  if (!label.torch || !label.cxx11_abi || label.torch_or_newer) return;
  const auto theirs = cxx11_abi_of_releases(label.torch->major, label.torch->minor);
  if (!theirs || *theirs == *label.cxx11_abi) return;
  problems.push_back(
      {"FF210", Severity::kUnknown,
       fmt::format("named for torch {} and the {} C++ ABI; every release of torch {} has the {} one",
                   label.torch->str(), *label.cxx11_abi ? "new" : "old", label.torch->str(), *theirs ? "new" : "old"),
       "",
       fmt::format("a wheel with cxx11abi{} in its name, or --torch with your PyTorch", *theirs ? "TRUE" : "FALSE")});
}

}  // namespace

void check_label(const Target& target, const Question& question, std::vector<Problem>& problems) {
  const bool by_name = target.kind == TargetKind::kName;
  if (target.kind != TargetKind::kWheel && !by_name) return;
  const auto name = parse_wheel_name(target.file_name);
  if (!name) return;
  const BuildLabel label = label_of(*name);
  if (by_name) {
    if (question.torch)
      judge_torch(label, question, problems);
    else
      judge_abi(label, problems);
  }
  if (by_name && label.cuda)
    if (std::string why = toolkit_misfit(label.cuda->major * 1000, question.driver); !why.empty())
      problems.push_back({"FF105", Severity::kMisfit, std::move(why), "", "a newer driver"});
  const bool no_gpu_code = !label.other_accelerator.empty() || label.cpu;
  if (no_gpu_code && !question.gpus.empty())
    problems.push_back({"FF211", Severity::kMisfit,
                        label.cpu ? "named as a build for the CPU: no CUDA code"
                                  : "named as a build for " + label.other_accelerator + ", not CUDA",
                        "", "a build with cu in its name"});
}

}  // namespace flashfit::doctor
