#include "doctor/environment/unnamed_modules.hpp"

#include <utility>

#include "doctor/facts/imported_modules.hpp"

namespace flashfit::doctor::environment {

void find_unnamed_modules(const dynamic_loader::FileTree& tree, std::vector<Package>& packages) {
  for (Package& package : packages) {
    if (package.distribution.wheel.empty()) continue;
    UnnamedModules unnamed(wheel_name_of(package.distribution));
    for (FileFacts& file : package.files)
      for (Binary& binary : file.binaries) unnamed.add(binary);
    if (!unnamed.any()) continue;
    bool recorded = false;
    for_each_recorded(tree, package.distribution, [&](const Recorded& file) {
      const std::string& path = file.path;
      recorded = true;
      if (!unnamed.wants(path)) return;
      unnamed.look_at(path, tree.resolve(path).node.size, [&]() -> std::optional<std::string> {
        auto text = dynamic_loader::read_text(tree, path, kLargestPythonFile);
        if (!text) return std::nullopt;
        return std::move(*text);
      });
    });
    if (recorded) unnamed.mark();
  }
}

}  // namespace flashfit::doctor::environment
