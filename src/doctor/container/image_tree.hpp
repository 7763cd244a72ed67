#pragma once
// The file system of a container image, looked at in the archive that it lies in: nothing is unpacked.
#include <memory>
#include <mutex>
#include <vector>

#include "doctor/container/layer.hpp"
#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::container {

class ImageTree final : public dynamic_loader::FileTree {
 public:
  /// The layers, the newest first. A layer that cannot be read ends the tree there: what was read of it stands, and
  /// error() says why. Errors: no temporary file can be made.
  /// `budget` is that of the whole archive.
  static Result<std::unique_ptr<ImageTree>> make(std::vector<LayerSource> layers,
                                                 std::shared_ptr<ContentBudget> budget);

  dynamic_loader::Node look(const std::string& path) const override;
  Result<std::vector<dynamic_loader::Entry>> list_here(const std::string& path) const override;
  /// Of a compressed layer what is neither small nor a binary takes the time to read the layer again.
  Result<std::unique_ptr<const doctor::Source>> open_here(const std::string& path) const override;

  /// "" or one line.
  const std::string& error() const { return error_; }

 private:
  ImageTree() = default;
  std::vector<LayerSource> layers_;
  std::shared_ptr<ContentBudget> budget_;
  mutable std::mutex reading_again_;  ///< what that costs is counted
  std::unique_ptr<doctor::UnnamedFile> kept_;
  Overlay overlay_;
  std::string error_;
};

}  // namespace flashfit::doctor::container
