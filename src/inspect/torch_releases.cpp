#include "inspect/torch_releases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace flashfit::inspect {
namespace {

/// MAJOR.MINOR and its last patch.
struct Release {
  std::uint64_t major, minor, last_patch;
};
// Source: PyTorch's releases and its versions in the package index.
constexpr auto kReleases = std::to_array<Release>(
    {{1, 0, 1},  {1, 1, 0},  {1, 2, 0},  {1, 3, 1},  {1, 4, 0},  {1, 5, 1},  {1, 6, 0}, {1, 7, 1},
     {1, 8, 2},  {1, 9, 1},  {1, 10, 2}, {1, 11, 0}, {1, 12, 1}, {1, 13, 1}, {2, 0, 1}, {2, 1, 2},
     {2, 2, 2},  {2, 3, 1},  {2, 4, 1},  {2, 5, 1},  {2, 6, 0},  {2, 7, 1},  {2, 8, 0}, {2, 9, 1},
     {2, 10, 0}, {2, 11, 0}, {2, 12, 1}, {2, 13, 0}, {2, 14, 1}, {2, 15, 0}});

}  // namespace

std::string no_torch_release(const Version& version) {
  const auto part = [&](std::size_t i) { return version.release.size() > i ? version.release[i] : 0; };
  constexpr const Release& kFirst = kReleases.front();
  constexpr const Release& kNewest = kReleases.back();
  const auto* const found = std::find_if(kReleases.begin(), kReleases.end(),
                                         [&](const Release& r) { return r.major == part(0) && r.minor == part(1); });
  if (version.epoch == 0 && found != kReleases.end()) {
    if (part(2) <= found->last_patch || found == &kNewest) return "";
    return fmt::format("PyTorch has no such release; the last {}.{} is {}.{}.{}", found->major, found->minor,
                       found->major, found->minor, found->last_patch);
  }
  if (version.epoch == 0 && version.is_prerelease() && part(0) == kNewest.major && part(1) == kNewest.minor + 1)
    return "";
  return fmt::format(
      "no such release of PyTorch is known; {}.{} to {}.{} are, and of another its wheel or folder tells", kFirst.major,
      kFirst.minor, kNewest.major, kNewest.minor);
}

}  // namespace flashfit::inspect
