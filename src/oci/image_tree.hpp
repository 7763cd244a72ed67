#pragma once
// The file system of a container image, looked at in the archive that it lies in: nothing is unpacked.
#include <memory>
#include <vector>

#include "loader/file_tree.hpp"
#include "oci/layer.hpp"

namespace flashfit::oci {

class ImageTree final : public loader::FileTree {
 public:
  /// The layers, the newest first. A layer that cannot be read ends the tree there: what was read of it stands, and
  /// error() says why. Errors: no temporary file can be made.
  static Result<std::unique_ptr<ImageTree>> make(std::vector<LayerSource> layers);

  loader::Node look(const std::string& path) const override;
  Result<std::vector<loader::Entry>> list_here(const std::string& path) const override;
  /// Of a compressed layer what is neither small nor a binary takes the time to read the layer again.
  Result<std::unique_ptr<const inspect::Source>> open_here(const std::string& path) const override;

  /// "" or one line.
  const std::string& error() const { return error_; }

 private:
  ImageTree() = default;
  std::vector<LayerSource> layers_;
  std::unique_ptr<inspect::UnnamedFile> kept_;
  Overlay overlay_;
  std::string error_;
};

}  // namespace flashfit::oci
