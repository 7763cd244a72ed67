#pragma once
// A root file system that is looked at, never run: a machine's own, a container image's, a folder that holds one. The
// loader's model, environments and images are all read through it.
//
// Paths are absolute in the tree: "/usr/lib/libc.so.6", parts split by '/', none of them empty, "." or ".." unless said
// otherwise. Every name in a tree is hostile: it may hold any byte but '/' and 0 (printable() before it is printed).
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/bytes/source.hpp"

namespace flashfit::doctor::dynamic_loader {

enum class FileKind : std::uint8_t {
  kNone,    ///< not there, or not to be reached
  kFile,    ///< a regular file
  kFolder,  ///<
  kLink,    ///< a symbolic link; resolve() never ends at one
  kOther,   ///< a device, a pipe, a socket: never opened
};

/// Two paths are one file where these are equal, as hard links are: the loader loads such a file once.
struct FileId {
  std::uint64_t device = 0, number = 0;
  auto operator<=>(const FileId&) const = default;
};

/// What lies at a path, no link followed.
struct Node {
  FileKind kind = FileKind::kNone;
  FileId id;
  std::uint64_t size = 0;    ///< bytes of a file
  std::string target;        ///< of a link, as it is written
  std::string stamp = {};    ///< of a file: another one once its content changed; "" where the tree cannot tell
  std::int64_t changed = 0;  ///< seconds since 1970 of a file's last change; 0: not told
  std::string why;           ///< of kNone: one printable line; "no such file" where that is all
};

struct Entry {
  std::string name;
  FileKind kind = FileKind::kNone;  ///< of the entry itself: a link is kLink
};

/// What a path leads to.
struct Resolved {
  std::string path;  ///< without links; of kNone: the last that was looked at
  Node node;         ///< never kLink
};

/// An implementation gives the three virtual functions, whose paths hold no links; what links mean is here, once.
/// All are const and may be asked by several threads at once. Nothing throws but std::bad_alloc.
class FileTree {
 public:
  virtual ~FileTree() = default;

  /// What lies at `path`, in which no folder is a link. Never fails: see Node::why.
  virtual Node look(const std::string& path) const = 0;
  /// The entries of a folder, sorted by name, at most kMostEntries, without "." and "..". The path as for look().
  /// Errors: the path and the reason; not a folder; too many entries.
  virtual Result<std::vector<Entry>> list_here(const std::string& path) const = 0;
  /// A regular file's bytes. The path as for look(). Errors: the path and the reason; not a regular file.
  virtual Result<std::unique_ptr<const doctor::Source>> open_here(const std::string& path) const = 0;

  /// Follows every link, the last part's too, within the tree: an absolute target starts at the tree's root, and ".."
  /// at the root stays there, as after chroot(2). `path` may hold empty parts, "." and "..". A path that is not
  /// absolute, is longer than kLongestPath or passes more than kMostLinks links (a loop does) is Node::kNone and says
  /// so.
  Resolved resolve(std::string_view path) const;
  /// list_here() and open_here() of what a path leads to.
  Result<std::vector<Entry>> list(std::string_view path) const;
  Result<std::unique_ptr<const doctor::Source>> open(std::string_view path) const;

  static constexpr std::size_t kMostLinks = 40, kLongestPath = 4096;  ///< Linux's own limits
  static constexpr std::size_t kMostEntries = 1 << 18;
};

/// A folder's path and a name, or a path relative to it: "/usr" and "lib" are "/usr/lib".
std::string join(std::string_view folder, std::string_view name);

/// The folder that a path lies in; "/" for what lies at the root, and for what has no folder.
std::string parent_of(const std::string& path);

/// What a path leads to.
bool is_file(const FileTree& tree, std::string_view path);
bool is_folder(const FileTree& tree, std::string_view path);

/// A small text file as a whole, at most `limit` bytes. Errors: those of open(); it is longer; it cannot be read.
Result<std::string> read_text(const FileTree& tree, std::string_view path, std::uint64_t limit);

}  // namespace flashfit::doctor::dynamic_loader
