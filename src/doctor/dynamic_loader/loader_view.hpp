#pragma once
// What a process is given before it loads anything: its machine, its environment and how its system is set up.
#include <optional>
#include <string>

#include "doctor/dynamic_loader/c_library.hpp"

namespace flashfit::doctor::dynamic_loader {

enum class CacheUse : std::uint8_t {
  kFile,        ///< /etc/ld.so.cache as it is; without one there is none
  kConfigured,  ///< as if ldconfig had just run: the folders of /etc/ld.so.conf, then the default ones. For images,
                ///< where container runtimes run it at the start
  kNone,
};

struct LoaderView {
  std::string machine = "x86_64";  ///< or "aarch64"; of another nothing loads
  int x86_level = 3;               ///< 1 to 4: which glibc-hwcaps subfolders count
  std::string library_path;        ///< LD_LIBRARY_PATH as it is written
  std::string preload;             ///< LD_PRELOAD, the same
  CacheUse cache = CacheUse::kFile;
  std::string current_folder;              ///< what relative paths start from; "": they are left out
  std::string platform;                    ///< what $PLATFORM stands for; "": unknown
  std::optional<GlibcVersion> glibc = {};  ///< where the tree's loader does not say it
  bool execstack_tunable = false;          ///< GLIBC_TUNABLES has glibc.rtld.execstack=2
  /// The libraries of NVIDIA's driver count as there where they are not found: containers get them at their start, and
  /// a machine without a GPU lacks nothing else.
  bool driver_comes_later = false;
};

}  // namespace flashfit::doctor::dynamic_loader
