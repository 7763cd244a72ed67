#include "doctor/pasted/file_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "core/base/ascii.hpp"

namespace flashfit::doctor::pasted {
namespace {

std::string field(const Diagnosis& diagnosis, const char* name) {
  const auto found = diagnosis.error.fields.find(name);
  return found == diagnosis.error.fields.end() ? "" : found->second;
}

/// The digits behind `before` in the name; 0 if it has none.
int number_behind(std::string_view path, std::string_view before) {
  const std::size_t at = path.rfind(before);
  int number = 0;
  if (at != std::string_view::npos) {
    const std::string digits(path.substr(at + before.size(), 4));
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  }
  return number;
}

/// bitsandbytes carries a library a CUDA version and takes another one by BNB_CUDA_VERSION.
FileFacts carried_cuda_versions(const Diagnosis& diagnosis, const std::vector<TargetReport>& reports) {
  std::set<int> carried;
  for (const TargetReport& report : reports)
    for (const auto& binary : report.target.binaries)
      if (const int cuda = number_behind(binary.path, "libbitsandbytes_cuda"); cuda != 0) carried.insert(cuda);
  FileFacts facts;
  if (carried.empty()) return facts;
  int wanted = 0;
  const std::string text = field(diagnosis, "cuda");
  std::from_chars(text.data(), text.data() + text.size(), wanted);
  facts.lines.push_back(fmt::format("carried: libbitsandbytes_cuda {}", fmt::join(carried, ", ")));
  facts.proof = !carried.contains(wanted);
  if (!facts.proof) facts.lines.push_back(fmt::format("{} is there: the text is of another installation", wanted));
  // Minor versions of a toolkit are compatible; the newest before the wanted one changes least.
  for (const int cuda : carried)
    if (cuda / 10 == wanted / 10 && cuda < wanted && facts.proof)
      facts.mend = fmt::format("export BNB_CUDA_VERSION={}", cuda);
  return facts;
}

/// SageAttention has a module an architecture.
FileFacts modules_of_architecture(const Diagnosis& diagnosis, const std::vector<TargetReport>& reports) {
  const std::string wanted = fmt::format("sm{}", field(diagnosis, "arch"));
  std::vector<std::string> there;
  std::size_t modules = 0;
  for (const TargetReport& report : reports)
    for (const auto& binary : report.target.binaries) {
      if (binary.path.find("_qattn_sm") == std::string::npos) continue;
      ++modules;
      if (binary.path.find(wanted) != std::string::npos) there.push_back(binary.path);
    }
  FileFacts facts;
  if (modules == 0) return facts;
  facts.proof = there.empty();
  facts.lines.push_back(
      there.empty() ? fmt::format("no module for {} is among the {} of these files: this build was "
                                  "made without it",
                                  wanted, modules)
                    : fmt::format("the module is there: {}; its import must have failed", fmt::join(there, ", ")));
  return facts;
}

}  // namespace

FileFacts file_facts(const Diagnosis& diagnosis, const std::vector<TargetReport>& reports) {
  if (diagnosis.error.kind == nullptr) return {};
  const std::string_view kind = diagnosis.error.kind->name;
  if (kind == "cuda-binary-not-found") return carried_cuda_versions(diagnosis, reports);
  if (kind == "kernel-module-missing") return modules_of_architecture(diagnosis, reports);
  return {};
}

}  // namespace flashfit::doctor::pasted
