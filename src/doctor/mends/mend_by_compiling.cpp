// The same source compiled for what was asked, by the compilers of the CUDA that PyTorch was built with: they must know
// the GPU, and the driver what they make. Code for one architecture alone was written for that, so that no other target
// compiles.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "doctor/facts/torch_facts.hpp"
#include "doctor/gpu_code/toolkit_gpus.hpp"
#include "doctor/mends/compile_command.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/packaging/build_label.hpp"
#include "doctor/packaging/python_module.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {
namespace {

bool is_plain(const Container& c) {
  return std::any_of(c.entries.begin(), c.entries.end(),
                     [](const CodeEntry& e) { return e.target.scope == TargetScope::kPlain; });
}

/// A compiler of PyTorch's is known to take other GPUs; other builds have ways of their own. Of a name alone: one that
/// speaks of PyTorch is an extension's.
bool can_be_compiled(const Target& target, const WheelName& name) {
  if (target.kind == TargetKind::kName) return label_of(name).torch.has_value();
  return target.kind == TargetKind::kWheel && !target.binaries.empty() &&
         std::all_of(target.binaries.begin(), target.binaries.end(), [](const Binary& b) {
           const bool uses_torch = b.extension.torch_abi != TorchAbi::kNone;
           return std::all_of(b.containers.begin(), b.containers.end(),
                              [&](const Container& c) { return c.entries.empty() || (uses_torch && is_plain(c)); });
         });
}

/// A library asks for what the system, the Python and the PyTorch that it is compiled on have.
void compile(Binary& binary, const std::vector<CodeEntry>& code, const Question& question) {
  for (Container& c : binary.containers)
    if (!c.entries.empty()) c.entries = code;
  std::erase_if(binary.versions, [](const VersionNeed& need) {
    return need.version.starts_with("GLIBC_") || need.version.starts_with("GLIBCXX_");
  });
  ExtensionFacts& extension = binary.extension;
  if (question.python) {
    binary.path = module_path_for(binary.path, *question.python);
    extension.python.clear();
  }
  if (extension.torch_abi == TorchAbi::kNone || !question.torch) return;
  extension.torch.clear();
  if (extension.torch_abi != TorchAbi::kStable && question.torch->cxx11_abi)
    extension.torch_abi = *question.torch->cxx11_abi ? TorchAbi::kCxx11 : TorchAbi::kPreCxx11;
}

}  // namespace

std::optional<Mend> mend_by_compiling(const TargetReport& report, const Question& question) {
  const Target& target = report.target;
  const bool for_gpus = has_problem(report, {"FF101", "FF102"});
  const bool for_system = has_problem(report, {"FF320", "FF322"}),
             for_torch = has_problem(report, {"FF210", "FF401", "FF402"});
  const bool for_python =
      has_problem(report, {"FF201", "FF222"}) && question.python && !question.python->abi_tag().empty();
  const auto name = parse_wheel_name(target.file_name);
  if (!(for_gpus || for_system || for_torch || for_python) || !name || !can_be_compiled(target, *name))
    return std::nullopt;
  const CudaVersion toolkit = question.torch ? cuda_of(*question.torch) : 0;
  std::set<ComputeCapability> capabilities;
  std::vector<CodeEntry> code;
  for (const AskedGpu& gpu : question.gpus)
    if (capabilities.insert(gpu.gpu.cc).second)
      code.push_back({.target = {.architecture = gpu.gpu.cc.decimal()}, .toolkit = toolkit});

  Target compiled = target;
  const std::string version(std::string_view(name->version.text).substr(0, name->version.text.find('+')));
  WheelTag tag = name->tags.front();
  if (for_python) {
    tag.python = question.python->tag();
    tag.abi = question.python->abi_tag();
  }
  // What the name said of CUDA, PyTorch and the C++ ABI is the old build's.
  compiled.file_name =
      fmt::format("{}-{}-{}.whl", target.file_name.substr(0, target.file_name.find('-')), version, tag.str());
  if (const std::size_t at = compiled.metadata.find("Version: " + name->version.text); at != std::string::npos)
    compiled.metadata.replace(at, 9 + name->version.text.size(), "Version: " + version);
  bool uses_torch = target.kind == TargetKind::kName, has_code = uses_torch;
  for (Binary& binary : compiled.binaries) {
    uses_torch |= binary.extension.torch_abi != TorchAbi::kNone;
    has_code |= !binary.containers.empty();
    compile(binary, code, question);
  }
  const auto known = [&](ComputeCapability gpu) { return toolkit_knows(toolkit, gpu); };
  if (has_code && !std::all_of(capabilities.begin(), capabilities.end(), known)) return std::nullopt;
  if (!fits(compiled, question)) return std::nullopt;
  const std::string command = compile_command({.name = name->name, .version = version, .uses_torch = uses_torch},
                                              has_code ? capabilities : std::set<ComputeCapability>{});
  if (command.empty()) return std::nullopt;
  std::vector<std::string> list;
  for (const ComputeCapability cc : capabilities) list.push_back(cc.str());
  std::vector<std::string> reasons;
  if (for_gpus) reasons.push_back(fmt::format("for {}", fmt::join(list, " and ")));
  if (for_python) reasons.push_back("for " + question.python->str());
  if (for_torch) reasons.emplace_back("against your PyTorch");
  if (for_system && reasons.empty()) reasons.emplace_back("on your system");
  return Mend{command, fmt::format("compiled {} it fits, if its source is {}", fmt::join(reasons, " and "),
                                   for_gpus ? "made for that" : "published")};
}

}  // namespace flashfit::doctor
