#include "doctor/environment/hub_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/bytes/json.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/facts/torch_facts.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileKind;
using dynamic_loader::FileTree;

constexpr std::size_t kMostRepositories = 1000, kMostSnapshots = 16;

/// "kernels-community/activation" of "models--kernels-community--activation"; "" of other folders.
std::string repository_of(const std::string& folder) {
  for (const std::string_view prefix : {"models--", "kernels--"}) {
    if (!folder.starts_with(prefix)) continue;
    std::string name = folder.substr(prefix.size());
    if (const std::size_t dashes = name.find("--"); dashes != std::string::npos) name.replace(dashes, 2, 1, '/');
    return printable(name);
  }
  return "";
}

int number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 ? value : 0;
}

/// What torch the site has, in the hub's words.
struct Wanted {
  HubVariant variant;
  std::string name;
};

std::optional<Wanted> wanted_by(const Site& site) {
  const auto& torch = site.question.torch;
  if (!torch || !torch->version || torch->version->release.size() < 2) return std::nullopt;
  Wanted wanted;
  wanted.variant.torch_major = static_cast<int>(std::min<std::uint64_t>(torch->version->release[0], 99));
  wanted.variant.torch_minor = static_cast<int>(std::min<std::uint64_t>(torch->version->release[1], 999));
  wanted.variant.cxx11 = torch->cxx11_abi;
  wanted.variant.arch = site.question.platform ? site.question.platform->arch : "x86_64";
  const std::string& local = torch->version->local;
  if (local.starts_with("cu"))
    wanted.variant.cuda = number(std::string_view(local).substr(2, local.find_first_not_of("0123456789", 2) - 2));
  wanted.name =
      fmt::format("torch{}{}-{}{}-{}-linux", wanted.variant.torch_major, wanted.variant.torch_minor,
                  torch->cxx11_abi == false ? "cxx98" : "cxx11",
                  wanted.variant.cuda == 0 ? "" : fmt::format("-cu{}", wanted.variant.cuda), wanted.variant.arch);
  return wanted;
}

bool fits(const HubVariant& has, const HubVariant& wanted) {
  if (has.other || (!has.arch.empty() && has.arch != wanted.arch)) return false;
  if (has.torch_major != 0 && (has.torch_major != wanted.torch_major || has.torch_minor != wanted.torch_minor))
    return false;
  if (has.cxx11 && wanted.cxx11 && *has.cxx11 != *wanted.cxx11) return false;
  // Minor versions of CUDA are compatible: whether the hub's client takes another one, its version decides.
  return has.cuda == 0 || wanted.cuda == 0 || has.cuda / 10 == wanted.cuda / 10;
}

/// "backend": {"type": "cuda", "archs": ["9.0+PTX"]} (huggingface/kernels, docs/source/kernel-requirements.md).
std::vector<std::string> declared_in(const FileTree& tree, const std::string& variant) {
  constexpr std::uint64_t kMostMetadata = std::uint64_t{1} << 20;
  constexpr std::size_t kMostDeclared = 64, kLongest = 16;
  std::vector<std::string> declared;
  const auto text = dynamic_loader::read_text(tree, variant + "/metadata.json", kMostMetadata);
  const auto json = doctor::parse_json(text.value_or("")).value_or(nlohmann::json());
  const nlohmann::json none;
  const auto at = [&](const nlohmann::json& object, const char* key) -> const nlohmann::json& {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() ? *found : none;
  };
  const nlohmann::json& backend = at(json, "backend");
  if (at(backend, "type") != "cuda") return declared;
  for (const auto& arch : at(backend, "archs"))
    if (arch.is_string() && arch.get_ref<const std::string&>().size() <= kLongest && declared.size() < kMostDeclared)
      declared.push_back(arch.get<std::string>());
  return declared;
}

HubKernel read_snapshot(const FileTree& tree, const std::string& name, const std::string& folder,
                        const Wanted& wanted) {
  HubKernel kernel{.name = name, .revision = printable(folder.substr(folder.rfind('/') + 1), 8)};
  kernel.package.distribution = {.name = name, .folder = folder};
  const auto variants = tree.list(folder + "/build");
  if (!variants) return kernel;
  for (const dynamic_loader::Entry& entry : *variants) {
    if (entry.kind != FileKind::kFolder || !entry.name.starts_with("torch")) continue;
    kernel.variants.push_back(printable(entry.name));
    if (kernel.found || !fits(parse_hub_variant(entry.name), wanted.variant)) continue;
    kernel.found = true;
    const std::string path = tree.resolve(folder + "/build/" + entry.name).path;
    kernel.package.distribution.folder = path;
    kernel.declared = declared_in(tree, path);
    const Walked walked = find_native_files(tree, path);
    kernel.package.files = read_file_facts(tree, walked.files, "", "", {});
  }
  return kernel;
}

/// What is declared and not found. Machine code of "9.0+PTX" is 9.0's, and its PTX is found under that name.
std::vector<std::string> declared_but_lacking(const HubKernel& kernel) {
  std::set<std::string> found;
  for (const FileFacts& file : kernel.package.files)
    for (const doctor::Binary& binary : file.binaries)
      for (const doctor::Container& container : binary.containers)
        for (const doctor::CodeEntry& entry : container.entries) {
          found.insert(entry.str());
          found.insert(entry.target.str());  // PTX serves as machine code that was declared
        }
  std::vector<std::string> lacks;
  for (const std::string& declared : kernel.declared)
    if (!found.contains(declared)) lacks.push_back(printable(declared));
  return lacks;
}

void check_declared(const HubKernel& kernel, doctor::TargetReport& report) {
  const std::vector<std::string> lacks = declared_but_lacking(kernel);
  if (lacks.empty()) return;
  report.problems.push_back(
      {"FF715", doctor::Severity::kNote,
       fmt::format("its metadata.json declares code for {}, which no file of it has", doctor::listed(lacks, 12)), "",
       "another revision: what this one was built for and what it says differ"});
}

}  // namespace

HubVariant parse_hub_variant(std::string_view name) {
  HubVariant variant;
  const auto parts = split(name, '-');
  const std::string_view torch = parts[0].substr(std::min<std::size_t>(5, parts[0].size()));
  if (torch.size() >= 2) {
    variant.torch_major = number(torch.substr(0, 1));
    variant.torch_minor = number(torch.substr(1));
  }
  for (const std::string_view part : parts) {
    if (part == "cxx11") variant.cxx11 = true;
    if (part == "cxx98") variant.cxx11 = false;
    if (part.starts_with("cu") && part.size() > 2 && is_digit(part[2])) variant.cuda = number(part.substr(2));
    if (part == "x86_64" || part == "aarch64") variant.arch = part;
    variant.other |= part == "cpu" || part == "metal" || part == "windows" || part == "darwin" ||
                     part.starts_with("rocm") || part.starts_with("xpu") || part.starts_with("cann");
  }
  return variant;
}

std::vector<HubKernel> read_hub_kernels(const FileTree& tree, const Site& site, const std::string& cache) {
  std::vector<HubKernel> kernels;
  const auto wanted = wanted_by(site);
  const auto repositories = wanted ? tree.list(cache) : fail(Code::kInvalidArgument, "");
  if (!repositories) return kernels;
  for (const dynamic_loader::Entry& entry : *repositories) {
    const std::string name = repository_of(entry.name);
    if (name.empty() || kernels.size() == kMostRepositories) continue;
    const std::string folder = cache + "/" + entry.name + "/snapshots";
    const auto snapshots = tree.list(folder);
    if (!snapshots) continue;
    for (std::size_t i = 0; i < std::min(snapshots->size(), kMostSnapshots); ++i) {
      HubKernel kernel = read_snapshot(tree, name, folder + "/" + (*snapshots)[i].name, *wanted);
      if (!kernel.variants.empty()) kernels.push_back(std::move(kernel));
    }
  }
  return kernels;
}

doctor::TargetReport judge_hub_kernel(const Site& site, const HubKernel& kernel) {
  doctor::TargetReport report;
  if (kernel.found) {
    report = judge_package(site, kernel.package);
    check_declared(kernel, report);
  } else {
    const auto wanted = wanted_by(site);
    report.target = {.target = kernel.name, .file_name = kernel.name, .kind = doctor::TargetKind::kDistribution};
    report.problems.push_back(
        {"FF711", doctor::Severity::kDegrades,
         fmt::format("revision {} in the hub's cache has builds {}, and none for this torch, which is {}",
                     kernel.revision, doctor::listed(kernel.variants), wanted ? wanted->name : "unknown"),
         "", "a revision that has one (revision= or version= of get_kernel), or a kernel of PyTorch's stable ABI"});
    report.verdict = doctor::verdict_of(report.problems);
  }
  return report;
}

}  // namespace flashfit::doctor::environment
