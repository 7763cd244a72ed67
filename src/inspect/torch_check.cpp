#include <algorithm>
#include <set>

#include "inspect/all_checks.hpp"
#include "inspect/build_label.hpp"
#include "inspect/cuda_libraries.hpp"
#include "inspect/cudart.hpp"
#include "inspect/demangle.hpp"
#include "inspect/listing.hpp"
#include "inspect/marker.hpp"
#include "inspect/metadata.hpp"
#include "inspect/torch_facts.hpp"

namespace flashfit::inspect {
namespace {

std::string abi_words(bool cxx11) { return cxx11 ? "the new C++ ABI (cxx11)" : "the old C++ ABI (pre-cxx11)"; }

std::optional<bool> cxx11_of(TorchAbi abi) {
  if (abi == TorchAbi::kCxx11) return true;
  return abi == TorchAbi::kPreCxx11 ? std::optional(false) : std::nullopt;
}

std::string torch_words(const TorchFacts& torch) {
  return torch.version ? "torch " + torch.version->text : torch.given;
}

/// What the extension needs and neither PyTorch nor a library beside it has.
std::vector<std::string> missing_of(const Binary& binary, const Target& target, const TorchFacts& torch) {
  std::set<std::string_view> beside;
  for (const Binary& other : target.binaries)
    beside.insert(other.extension.torch_defined.begin(), other.extension.torch_defined.end());
  std::vector<std::string> missing;
  for (const std::string& name : binary.extension.torch)
    if (!torch.exports.contains(name) && !beside.contains(name)) missing.push_back(name);
  return missing;
}

void check_symbols(const Binary& binary, const Target& target, const TorchFacts& torch,
                   std::vector<Problem>& problems) {
  const auto needs = cxx11_of(binary.extension.torch_abi);
  const bool other_abi = needs && torch.cxx11_abi && *needs != *torch.cxx11_abi;
  std::vector<std::string> missing =
      torch.exports.empty() ? std::vector<std::string>() : missing_of(binary, target, torch);
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown;
  for (const std::string& name : missing) shown.push_back(shown.size() < kShown ? demangled(name, 120) : std::string());
  if (other_abi) {
    problems.push_back(
        {"FF401", Severity::kMisfit,
         fmt::format("needs {}; {} has the {} one{}", abi_words(*needs), torch_words(torch),
                     *torch.cxx11_abi ? "new" : "old",
                     missing.empty() ? std::string() : ". Missing: " + listed(shown, kShown)),
         binary.path,
         fmt::format("a build for {} (cxx11abi{})", abi_words(*torch.cxx11_abi), *torch.cxx11_abi ? "TRUE" : "FALSE")});
  } else if (!missing.empty()) {
    problems.push_back(
        {"FF402", Severity::kMisfit,
         fmt::format("built for another PyTorch: {} lacks {}", torch_words(torch), listed(shown, kShown)), binary.path,
         fmt::format("a build for {}", torch_words(torch))});
  }
}

bool is_cpu_build(const TorchFacts& torch) { return torch.version && torch.version->local.starts_with("cpu"); }

void check_cuda_of(const Binary& binary, const TorchFacts& torch, const std::set<std::string>& beside,
                   std::vector<Problem>& problems) {
  const int theirs = cuda_major(torch);
  for (const std::string& library : binary.needed) {
    if (is_cpu_build(torch) && (library == "libtorch_cuda.so" || library == "libc10_cuda.so")) {
      problems.push_back({"FF405", Severity::kMisfit,
                          fmt::format("needs {}; {} is built for the CPU alone", library, torch_words(torch)),
                          binary.path, "a PyTorch built for CUDA"});
      return;
    }
    const int needed = cudart_major(library);
    if (needed == 0 || theirs == 0 || needed == theirs || beside.contains(library)) continue;
    const CudaLibrary* const known = find_cuda_library(library, needed);
    problems.push_back({"FF405", Severity::kMisfit,
                        fmt::format("needs the runtime of CUDA {} ({}); {} brings that of CUDA {}", needed, library,
                                    torch_words(torch), theirs),
                        binary.path,
                        known == nullptr
                            ? fmt::format("a build for CUDA {}", theirs)
                            : fmt::format("a build for CUDA {}, or pip install {}", theirs, known->package)});
    return;
  }
}

/// Where no PyTorch was given: the one that the file name speaks of, if its releases are all of the other ABI.
void check_named_torch(const Binary& binary, const BuildLabel& label, std::vector<Problem>& problems) {
  const auto needs = cxx11_of(binary.extension.torch_abi);
  if (!needs || !label.torch || label.torch_or_newer || binary.machine != "x86_64" || binary.windows) return;
  const auto theirs = cxx11_abi_of_releases(label.torch->major, label.torch->minor);
  if (!theirs || *theirs == *needs) return;
  problems.push_back({"FF401", Severity::kUnknown,
                      fmt::format("needs {}; the file name says PyTorch {}, and every release of that has the {} one: "
                                  "only a PyTorch of another maker could load it",
                                  abi_words(*needs), label.torch->str(), *theirs ? "new" : "old"),
                      binary.path,
                      fmt::format("a build for {} (cxx11abi{}), or --torch with your PyTorch: it decides",
                                  abi_words(*theirs), *theirs ? "TRUE" : "FALSE")});
}

/// What the file name and METADATA say of PyTorch's version.
void check_versions(const Target& target, const BuildLabel& label, bool symbols_known, const Question& question,
                    std::vector<Problem>& problems) {
  const TorchFacts& torch = *question.torch;
  if (!torch.version) return;
  const Version& version = *torch.version;
  if (const auto metadata = parse_metadata(target.metadata)) {
    for (const Requirement& requirement : metadata->requirements) {
      if (requirement.name != "torch" || requirement.optional()) continue;
      if (marker_holds(requirement.marker, {question.python, question.platform}) == false) continue;
      if (const Specifier* const clause = refusing(requirement.versions, version))
        problems.push_back({"FF406", Severity::kMisfit,
                            fmt::format("requires torch {}; yours is {}", clause->text, version.text), "",
                            fmt::format("torch {}", clause->text)});
    }
  }
  if (!label.torch || label.torch_or_newer || symbols_known) return;
  const int major = static_cast<int>(version.release[0]),
            minor = version.release.size() > 1 ? static_cast<int>(version.release[1]) : 0;
  if (label.torch->major == major && (label.torch->minor < 0 || label.torch->minor == minor)) return;
  problems.push_back(
      {"FF404", Severity::kUnknown,
       fmt::format("the file name says PyTorch {}; yours is {}. C++ symbols change between minor versions, and a "
                   "version alone does not tell which",
                   label.torch->str(), version.text),
       "", "--torch with the folder or the wheel of your PyTorch: its symbols decide"});
}

}  // namespace

void check_torch(const Target& target, const Question& question, std::vector<Problem>& problems) {
  const auto name = parse_wheel_name(target.file_name);
  const BuildLabel label = name ? label_of(*name) : BuildLabel{};
  std::set<std::string> beside;
  for (const Binary& binary : target.binaries) beside.insert(binary.path.substr(binary.path.rfind('/') + 1));
  bool uses_torch = false, cxx = false;
  for (const Binary& binary : target.binaries) {
    const TorchAbi abi = binary.extension.torch_abi;
    uses_torch |= abi != TorchAbi::kNone;
    cxx |= abi != TorchAbi::kNone && abi != TorchAbi::kStable;
    const auto needs = cxx11_of(abi);
    if (needs && label.cxx11_abi && *needs != *label.cxx11_abi)
      problems.push_back({"FF403", question.torch ? Severity::kNote : Severity::kDegrades,
                          fmt::format("mislabelled: the file name says cxx11abi{}, the code has {}",
                                      *label.cxx11_abi ? "TRUE" : "FALSE", abi_words(*needs)),
                          binary.path, ""});
    if (!question.torch) check_named_torch(binary, label, problems);
    if (!question.torch || abi == TorchAbi::kNone) continue;
    check_symbols(binary, target, *question.torch, problems);
    check_cuda_of(binary, *question.torch, beside, problems);
  }
  // A name without its file is check_label's.
  if (question.torch && (uses_torch || target.binaries.empty()) && target.kind != TargetKind::kName)
    check_versions(target, cxx || target.binaries.empty() ? label : BuildLabel{},
                   !question.torch->exports.empty() && cxx, question, problems);
}

}  // namespace flashfit::inspect
