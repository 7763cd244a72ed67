#pragma once
// Container images as files: what `docker save`, `podman save` and `skopeo copy` to oci-archive write, compressed or
// not.
#include <string>
#include <vector>

#include "doctor/container/image_tree.hpp"

namespace flashfit::doctor::container {

struct Image {
  std::string name;                    ///< as the archive names it: any bytes
  std::string platform;                ///< "linux/amd64"; "" if not said
  std::vector<std::string> variables;  ///< of its processes: "PATH=/usr/bin:/bin"; any bytes
  std::unique_ptr<ImageTree> tree;     ///< null where `error` says why
  std::string error;
};

struct ImageArchive {
  std::unique_ptr<const doctor::Source> bytes;  ///< the trees read here
  std::vector<Image> images;
};

/// Whether the file is such an archive: a tar archive whose first member has a name that these programs give. Never
/// fails: what cannot be read is none.
bool is_image_archive(const std::string& path);

/// Errors: "cannot be opened: WHY"; those of the readers. A compressed archive is decompressed first, into a file
/// without a name, as its layers lie where its end says.
Result<ImageArchive> open_image_archive(const std::string& path);

}  // namespace flashfit::doctor::container
