#include "doctor/knowledge/torch_releases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/base/ascii.hpp"
#include "core/gpu/driver_versions.hpp"
#include "doctor/gpu_code/toolkit_versions.hpp"
#include "doctor/knowledge/data.hpp"

namespace flashfit::doctor {
namespace {

std::string_view targets_of(const TorchRelease& release, CudaVersion cuda) {
  std::string_view list;
  if (!release.has_build(cuda)) return list;
  for (const TorchTargets& targets : knowledge_data().torch_targets)
    if (targets.cuda == cuda && targets.from_minor <= release.minor) list = targets.list;
  return list;
}

}  // namespace

std::string TorchRelease::str() const { return fmt::format("{}.{}.{}", major, minor, last_patch); }

bool TorchRelease::has_build(CudaVersion version) const {
  return version != 0 && std::find(cuda.begin(), cuda.end(), version) != cuda.end();
}

std::string TorchRelease::builds() const {
  std::vector<std::string> names;
  for (const CudaVersion version : cuda)
    if (version != 0) names.push_back(flashfit::str(version));
  return names.empty() ? "" : fmt::format("builds for CUDA {}", fmt::join(names, ", "));
}

std::span<const TorchRelease> torch_releases() { return knowledge_data().torch_releases; }

const TorchRelease* torch_release_of(const Version& version) {
  const std::uint64_t minor = version.release.size() > 1 ? version.release[1] : 0;
  const auto releases = torch_releases();
  const auto found = std::find_if(releases.begin(), releases.end(), [&](const TorchRelease& r) {
    return version.epoch == 0 && r.major == version.release[0] && r.minor == minor;
  });
  return found == releases.end() ? nullptr : &*found;
}

std::vector<CodeEntry> code_of_torch(const TorchRelease& release, CudaVersion cuda) {
  std::vector<CodeEntry> code;
  const std::string_view list = targets_of(release, cuda);
  if (list.empty()) return code;
  for (const std::string_view target : split(list, ' ')) {
    CodeEntry entry;
    for (const char c : target)
      if (is_digit(c)) entry.target.architecture = entry.target.architecture * 10 + (c - '0');
    entry.toolkit = cuda;
    code.push_back(entry);
    if (!target.ends_with('+')) continue;
    entry.kind = CodeEntry::Kind::kPtx;
    entry.toolkit = 0;
    entry.ptx_isa = newest_ptx_for(cuda);
    code.push_back(entry);
  }
  return code;
}

std::string targets_of_torch(const TorchRelease& release, CudaVersion cuda) {
  std::string list(targets_of(release, cuda));
  return list.ends_with('+') ? list + "PTX" : list;
}

CudaVersion cuda_of_label(std::string_view label) {
  int number = 0;
  if (!label.starts_with("cu") || label.size() > 5) return 0;
  const char* const end = label.data() + label.size();
  const auto [stop, error] = std::from_chars(label.data() + 2, end, number);
  if (error != std::errc{} || stop != end || number < 10) return 0;
  return number / 10 * 1000 + number % 10 * 10;
}

std::string label_of_cuda(CudaVersion cuda) { return fmt::format("cu{}{}", cuda / 1000, cuda % 1000 / 10); }

std::string no_torch_build(const Version& version, std::string_view label) {
  const CudaVersion cuda = cuda_of_label(label);
  const TorchRelease* const release = torch_release_of(version);
  // Of a release with one build in the table the others are not known.
  if (cuda == 0 || release == nullptr || release->cuda[1] == 0 || version.is_prerelease()) return "";
  if (release->has_build(cuda)) return "";
  return fmt::format("PyTorch has no build {} of {}.{}; it has {}", label, release->major, release->minor,
                     release->builds());
}

std::string no_torch_release(const Version& version) {
  const auto part = [&](std::size_t i) { return version.release.size() > i ? version.release[i] : 0; };
  const TorchRelease &first = torch_releases().front(), &newest = torch_releases().back();
  if (const TorchRelease* const found = torch_release_of(version)) {
    if (part(2) <= found->last_patch || found == &newest) return "";
    return fmt::format("PyTorch has no such release; the last {}.{} is {}", found->major, found->minor, found->str());
  }
  if (version.epoch == 0 && version.is_prerelease() && part(0) == newest.major && part(1) == newest.minor + 1)
    return "";
  return fmt::format(
      "no such release of PyTorch is known; {}.{} to {}.{} are ({}), and of another its wheel or folder tells",
      first.major, first.minor, newest.major, newest.minor, words_of_date(knowledge_data()));
}

}  // namespace flashfit::doctor
