#pragma once
// What installers say of the packages that they installed: *.dist-info (METADATA, WHEEL, RECORD) and *.egg-info.
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::environment {

/// One installed package.
struct Distribution {
  std::string name;      ///< normalised: "flash-attn"; printable
  std::string version;   ///< as METADATA has it: "2.8.3+cu12torch2.7cxx11abiFALSE"; printable
  std::string folder;    ///< of packages: ".../site-packages"
  std::string info;      ///< ".../flash_attn-2.8.3.dist-info"
  std::string metadata;  ///< its headers
  std::string wheel;     ///< the text of WHEEL; "" if there is none
  /// Where pip can have its source again: "git+https://...@COMMIT" or a folder, by direct_url.json; "" if it came from
  /// an index.
  std::string source;
  bool by_url = false;   ///< it did not come from an index, whether its source is known or not
  bool doubled = false;  ///< another distribution of its folder has the same name
};

/// Those of a folder of packages, by name; what names no package, and what is beyond kMostDistributions, is left out,
/// and said in `unread`.
std::vector<Distribution> read_distributions(const dynamic_loader::FileTree& tree, const std::string& folder,
                                             std::vector<std::string>& unread);
inline constexpr std::size_t kMostDistributions = 20'000;

/// A line of RECORD.
struct Recorded {
  std::string path;                   ///< of the tree
  std::optional<std::uint64_t> size;  ///< bytes that the file had when it was installed
};

/// Calls `owns(file)` for each file that RECORD lists.
void for_each_recorded(const dynamic_loader::FileTree& tree, const Distribution& distribution,
                       const std::function<void(const Recorded& file)>& owns);

/// Files named as code that RECORD lists elsewhere below the prefix of its folder, "../../../lib/libxgboost.so", where
/// a wheel's data go; at most kMostOutside.
std::vector<std::string> recorded_outside(const dynamic_loader::FileTree& tree, const Distribution& distribution);
inline constexpr std::size_t kMostOutside = 4096;

/// A wheel's name made of what METADATA and WHEEL say, so that its labels can be read: "flash_attn-2.8.3-cp311-..".
std::string wheel_name_of(const Distribution& distribution);

}  // namespace flashfit::doctor::environment
