#pragma once
// A FileTree that lies in a folder of this machine; "/" is the machine itself.
#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::dynamic_loader {

/// Links never lead out of the folder, as long as nobody changes it meanwhile.
class RealTree final : public FileTree {
 public:
  /// `root` is absolute or relative to the current folder and may be a link itself. One that is not there has nothing
  /// in it.
  explicit RealTree(std::string root = "/");

  Node look(const std::string& path) const override;
  Result<std::vector<Entry>> list_here(const std::string& path) const override;
  Result<std::unique_ptr<const doctor::Source>> open_here(const std::string& path) const override;

  const std::string& root() const { return root_; }  ///< without a '/' at its end: "" is the machine's own

 private:
  std::string outside(const std::string& path) const { return root_ + path; }
  std::string root_;
};

}  // namespace flashfit::doctor::dynamic_loader
