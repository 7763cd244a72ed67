#include "inspect/torch_releases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "inspect/ascii.hpp"
#include "inspect/toolkit_versions.hpp"

namespace flashfit::inspect {
namespace {

// Sources: versions, Pythons and the first CUDA are those of the wheels in the package index (their tags, and
// Requires-Dist on NVIDIA's packages); the other CUDAs are in pytorch/pytorch, RELEASE.md, "Release Compatibility
// Matrix", which had no row for 2.15 yet.
constexpr auto kReleases = std::to_array<TorchRelease>({
    {1, 0, 1},
    {1, 1, 0},
    {1, 2, 0},
    {1, 3, 1},
    {1, 4, 0},
    {1, 5, 1},
    {1, 6, 0},
    {1, 7, 1},
    {1, 8, 2},
    {1, 9, 1},
    {1, 10, 2},
    {1, 11, 0},
    {1, 12, 1},
    {1, 13, 1},
    {2, 0, 1, 8, 11, {11070, 11080}},
    {2, 1, 2, 8, 11, {12010, 11080}},
    {2, 2, 2, 8, 12, {12010, 11080}},
    {2, 3, 1, 8, 12, {12010, 11080}},
    {2, 4, 1, 8, 12, {12010, 12040, 11080}},
    {2, 5, 1, 9, 13, {12040, 12010, 11080}},
    {2, 6, 0, 9, 13, {12040, 12060, 11080}},
    {2, 7, 1, 9, 13, {12060, 12080, 11080}},
    {2, 8, 0, 9, 13, {12080, 12090, 12060}},
    {2, 9, 1, 10, 14, {12080, 13000, 12060}},
    {2, 10, 0, 10, 14, {12080, 13000, 12060}},
    {2, 11, 0, 10, 14, {13000, 12080, 12060}},
    {2, 12, 1, 10, 14, {13000, 13020, 12060}},
    {2, 13, 0, 10, 14, {13000, 13020, 12060}},
    {2, 14, 1, 10, 14, {13000, 13020, 12060}},
    {2, 15, 0, 11, 15, {13020}},
});

// Sources: RELEASE.md, "PyTorch CUDA Support Matrix", and .ci/manywheel/build_cuda.sh at each release. Machine code;
// with '+' PTX, too. Of CUDA 13 both have PTX of 12.0, which the wheels of 2.11 to 2.15 lack: these count.
struct Targets {
  CudaVersion cuda;
  std::uint64_t from_minor;  ///< of 2.x
  std::string_view list;
};
constexpr auto kTargets = std::to_array<Targets>({
    {11070, 0, "3.7 5.0 6.0 7.0 7.5 8.0 8.6"},
    {11080, 0, "3.7 5.0 6.0 7.0 7.5 8.0 8.6 9.0"},
    {12010, 0, "5.0 6.0 7.0 7.5 8.0 8.6 9.0"},
    {12040, 0, "5.0 6.0 7.0 7.5 8.0 8.6 9.0"},
    {12060, 0, "5.0 6.0 7.0 7.5 8.0 8.6 9.0"},
    {12080, 0, "7.5 8.0 8.6 9.0 10.0 12.0+"},
    {12080, 8, "7.0 7.5 8.0 8.6 9.0 10.0 12.0"},
    {12090, 0, "7.0 7.5 8.0 8.6 9.0 10.0 12.0+"},
    {13000, 0, "7.5 8.0 8.6 9.0 10.0 12.0"},
    {13020, 0, "7.5 8.0 8.6 9.0 10.0 12.0"},
});

std::string_view targets_of(const TorchRelease& release, CudaVersion cuda) {
  std::string_view list;
  if (!release.has_build(cuda)) return list;
  for (const Targets& targets : kTargets)
    if (targets.cuda == cuda && targets.from_minor <= release.minor) list = targets.list;
  return list;
}

}  // namespace

std::string TorchRelease::str() const { return fmt::format("{}.{}.{}", major, minor, last_patch); }

bool TorchRelease::has_build(CudaVersion version) const {
  return version != 0 && std::find(cuda.begin(), cuda.end(), version) != cuda.end();
}

std::span<const TorchRelease> torch_releases() { return kReleases; }

const TorchRelease* torch_release_of(const Version& version) {
  const std::uint64_t minor = version.release.size() > 1 ? version.release[1] : 0;
  const auto* const found = std::find_if(kReleases.begin(), kReleases.end(), [&](const TorchRelease& r) {
    return version.epoch == 0 && r.major == version.release[0] && r.minor == minor;
  });
  return found == kReleases.end() ? nullptr : found;
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

std::string no_torch_release(const Version& version) {
  const auto part = [&](std::size_t i) { return version.release.size() > i ? version.release[i] : 0; };
  constexpr const TorchRelease& kFirst = kReleases.front();
  constexpr const TorchRelease& kNewest = kReleases.back();
  if (const TorchRelease* const found = torch_release_of(version)) {
    if (part(2) <= found->last_patch || found == &kNewest) return "";
    return fmt::format("PyTorch has no such release; the last {}.{} is {}", found->major, found->minor, found->str());
  }
  if (version.epoch == 0 && version.is_prerelease() && part(0) == kNewest.major && part(1) == kNewest.minor + 1)
    return "";
  return fmt::format(
      "no such release of PyTorch is known; {}.{} to {}.{} are, and of another its wheel or folder tells", kFirst.major,
      kFirst.minor, kNewest.major, kNewest.minor);
}

}  // namespace flashfit::inspect
