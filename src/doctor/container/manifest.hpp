#pragma once
// Which layers make up the images of an archive: `docker save`'s manifest.json, else an OCI layout's index.json.
#include <string>
#include <vector>

#include "doctor/container/archive_index.hpp"

namespace flashfit::doctor::container {

struct ImageParts {
  std::string name;                    ///< "repository:tag", else the manifest's digest; any bytes
  std::string platform;                ///< "linux/arm64"; "" if not said
  std::vector<std::string> variables;  ///< of its processes: "PATH=/usr/bin:/bin"; any bytes
  std::vector<std::string> layers;     ///< names in the archive, the oldest first
};

inline constexpr std::size_t kMostImages = 16, kMostLayers = 1024, kMostVariables = 4096;
inline constexpr std::uint64_t kLargestManifest = std::uint64_t{4} << 20;  ///< bytes: the distribution spec's own limit

/// Errors: neither manifest is there; no JSON, or not what the formats say; more than the limits.
Result<std::vector<ImageParts>> read_manifests(const ArchiveIndex& archive);

}  // namespace flashfit::doctor::container
