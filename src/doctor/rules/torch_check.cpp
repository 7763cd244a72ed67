#include <algorithm>
#include <set>

#include "core/base/printable.hpp"
#include "doctor/binaries/demangle.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/facts/string_tag.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/knowledge/cuda_libraries.hpp"
#include "doctor/knowledge/cuda_library_rows.hpp"
#include "doctor/knowledge/torch_libraries.hpp"
#include "doctor/knowledge/torch_names.hpp"
#include "doctor/packaging/build_label.hpp"
#include "doctor/packaging/metadata.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/cudart.hpp"
#include "doctor/rules/torch_requirement.hpp"

namespace flashfit::doctor {
namespace {

std::string abi_words(bool cxx11) { return cxx11 ? "the new C++ ABI (cxx11)" : "the old C++ ABI (pre-cxx11)"; }

std::optional<bool> cxx11_of(TorchAbi abi) {
  if (abi == TorchAbi::kCxx11) return true;
  return abi == TorchAbi::kPreCxx11 ? std::optional(false) : std::nullopt;
}

bool has_code(const std::vector<Problem>& problems, std::string_view code, const std::string& member) {
  return std::any_of(problems.begin(), problems.end(),
                     [&](const Problem& p) { return p.code == code && p.member == member; });
}

std::string torch_words(const TorchFacts& torch) {
  return torch.version ? "torch " + torch.version->text : torch.given;
}

struct Missing {
  std::string name;  ///< mangled
  std::string when;  ///< where a version alone is known: "until torch 2.2"

  std::string words() const { return demangled(name, 120) + (when.empty() ? "" : fmt::format(" ({})", when)); }
};

/// What the extension needs and neither PyTorch nor a library beside it has.
std::vector<Missing> missing_of(const Binary& binary, const Target& target, const TorchFacts& torch) {
  std::set<std::string_view> beside;
  for (const Binary& other : target.binaries)
    beside.insert(other.extension.torch_defined.begin(), other.extension.torch_defined.end());
  std::vector<Missing> missing;
  for (const std::string& name : binary.extension.torch) {
    if (beside.contains(name)) continue;
    if (!torch.exports.empty()) {
      // Not every installation has PyTorch's Python module among its libraries.
      if (is_torch_python_symbol(name) && !torch.libraries.contains("libtorch_python.so")) continue;
      if (!torch.exports.contains(name)) missing.push_back({name, ""});
    } else if (torch.version) {
      if (auto when = lacks_name(*torch.version, name)) missing.push_back({name, *when});
    }
  }
  return missing;
}

/// Whether a name that is missing is there as the same function of the other C++ ABI.
bool is_there_otherwise(const std::vector<Missing>& missing, const TorchFacts& torch) {
  return std::any_of(missing.begin(), missing.end(),
                     [&](const Missing& one) { return torch.exports.contains(other_tag_of(one.name)); });
}

void check_symbols(const Binary& binary, const Target& target, const TorchFacts& torch,
                   std::vector<Problem>& problems) {
  const std::vector<Missing> missing = missing_of(binary, target, torch);
  auto needs = cxx11_of(binary.extension.torch_abi);
  if (!needs && torch.cxx11_abi && is_there_otherwise(missing, torch)) needs = !*torch.cxx11_abi;
  const bool other_abi = needs && torch.cxx11_abi && *needs != *torch.cxx11_abi;
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown;
  for (const Missing& one : missing) shown.push_back(shown.size() < kShown ? one.words() : std::string());
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

/// Libraries of PyTorch's that this one lacks: 2.0 gave up libtorch_cuda_cu.so, and not every build is for CUDA. What
/// is installed has some elsewhere, and is judged by what the loader finds.
void check_own_libraries(const Binary& binary, const Target& target, const TorchFacts& torch,
                         std::vector<Problem>& problems) {
  const bool known = torch.libraries.contains("libtorch_cpu.so") && torch.libraries.contains("libtorch_python.so");
  if (!known || target.kind == TargetKind::kDistribution || has_code(problems, "FF405", binary.path)) return;
  for (const std::string& library : binary.needed)
    if (is_torch_library(library) && !torch.libraries.contains(library))
      return problems.push_back(
          {"FF402", Severity::kMisfit,
           fmt::format("built for another PyTorch: {} has no {}", torch_words(torch), printable(library)), binary.path,
           fmt::format("a build for {}", torch_words(torch))});
}

bool is_cpu_build(const TorchFacts& torch) { return torch.version && torch.version->local.starts_with("cpu"); }

/// A version without a label is the package index's, whose wheels for x86-64 Linux are of one CUDA.
int cuda_major_for(const Binary& binary, const TorchFacts& torch) {
  if (const int said = cuda_major(torch); said != 0) return said;
  return binary.machine == "x86_64" && !binary.windows ? cuda_of(torch) / 1000 : 0;
}

/// Whether an installer brings the package along, whatever PyTorch brings.
bool requires_package(const Target& target, const CudaLibrary& library) {
  const auto metadata = parse_metadata(target.metadata);
  return metadata && std::any_of(metadata->requirements.begin(), metadata->requirements.end(),
                                 [&](const auto& one) { return one.name == project_of(library) && !one.optional(); });
}

void check_cuda_of(const Binary& binary, const Target& target, const TorchFacts& torch,
                   const std::set<std::string>& beside, std::vector<Problem>& problems) {
  const int theirs = cuda_major_for(binary, torch);
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
    if (known != nullptr && requires_package(target, *known)) continue;
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

std::uint64_t minor_of(const Version& version) { return version.release.size() > 1 ? version.release[1] : 0; }

/// What to ask pip for instead, or what to look for.
std::string other_release(const Target& target, const TorchFacts& torch) {
  const auto name = parse_wheel_name(target.file_name);
  const std::string release = name ? release_for(name->name, torch) : "";
  return release.empty() ? "a release for torch " + torch.version->public_part().text
                         : fmt::format("{}=={}", name->name, release);
}

/// What the file name and METADATA say of PyTorch's version.
void check_versions(const Target& target, const BuildLabel& label, bool symbols_known, const Question& question,
                    std::vector<Problem>& problems) {
  const TorchFacts& torch = *question.torch;
  if (!torch.version) return;
  const Version& version = *torch.version;
  if (const auto refused = refused_torch(target, question))
    problems.push_back({"FF406", Severity::kMisfit,
                        fmt::format("{} torch {}; {} is {}", refused->known_alone ? "is built for" : "requires",
                                    refused->text, question.whose_torch, version.text),
                        "", other_release(target, torch)});
  if (!label.torch || label.torch_or_newer || symbols_known) return;
  const int major = static_cast<int>(version.release[0]), minor = static_cast<int>(minor_of(version));
  if (label.torch->major == major && (label.torch->minor < 0 || label.torch->minor == minor)) return;
  problems.push_back(
      {"FF404", Severity::kUnknown,
       fmt::format("the file name says PyTorch {}; {} is {}. C++ symbols change between minor versions, and a "
                   "version alone does not tell which",
                   label.torch->str(), question.whose_torch, version.text),
       "", "--torch with the folder or the wheel of your PyTorch: its symbols decide"});
}

}  // namespace

void check_torch(const Target& target, const Question& question, std::vector<Problem>& problems) {
  const auto name = parse_wheel_name(target.file_name);
  const BuildLabel label = name ? label_of(*name) : BuildLabel{};
  std::set<std::string> beside;
  for (const Binary& binary : target.binaries) beside.insert(binary.path.substr(binary.path.rfind('/') + 1));
  bool cxx = false;
  for (const Binary& binary : target.binaries) {
    const TorchAbi abi = binary.extension.torch_abi;
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
    check_cuda_of(binary, target, *question.torch, beside, problems);
    if (!beside.contains("libtorch_cpu.so")) check_own_libraries(binary, target, *question.torch, problems);
  }
  if (!question.torch) return;
  // The label of a name without its file is check_label's.
  const bool labelled = (cxx || target.binaries.empty()) && target.kind != TargetKind::kName;
  check_versions(target, labelled ? label : BuildLabel{}, !question.torch->exports.empty() && cxx, question, problems);
}

}  // namespace flashfit::doctor
