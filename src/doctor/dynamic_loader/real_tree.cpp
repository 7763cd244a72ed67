#include "doctor/dynamic_loader/real_tree.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/base/printable.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kFile;
  if (S_ISDIR(mode)) return FileKind::kFolder;
  if (S_ISLNK(mode)) return FileKind::kLink;
  return FileKind::kOther;
}

FileKind kind_of_entry(unsigned char type) {
  switch (type) {
    case DT_REG:
      return FileKind::kFile;
    case DT_DIR:
      return FileKind::kFolder;
    case DT_LNK:
      return FileKind::kLink;
    default:
      return FileKind::kOther;
  }
}

std::string words_of(int error) { return error == ENOENT ? "no such file" : std::system_category().message(error); }

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

}  // namespace

RealTree::RealTree(std::string root) : root_(root.empty() ? "." : std::move(root)) {
  while (!root_.empty() && root_.back() == '/') root_.pop_back();
}

Node RealTree::look(const std::string& path) const {
  struct stat status = {};
  const std::string real = outside(path);
  // The root itself may be a link: it is the caller's word, not the tree's.
  const int failed = path == "/" ? stat(real.c_str(), &status) : lstat(real.c_str(), &status);
  if (failed != 0) return {.kind = FileKind::kNone, .why = words_of(errno)};
  Node node{.kind = kind_of(status.st_mode), .id = {.device = status.st_dev, .number = status.st_ino}};
  if (node.kind == FileKind::kFile) {
    node.size = static_cast<std::uint64_t>(status.st_size);
    node.changed = std::max(status.st_mtim.tv_sec, status.st_ctim.tv_sec);
    node.stamp = fmt::format("{}.{:09}.{}.{:09}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                             status.st_ctim.tv_nsec);
  }
  if (node.kind == FileKind::kLink) {
    node.target.resize(kLongestPath);
    const ssize_t length = readlink(real.c_str(), node.target.data(), node.target.size());
    if (length < 0) return {.kind = FileKind::kNone, .why = words_of(errno)};
    node.target.resize(static_cast<std::size_t>(length));
  }
  return node;
}

Result<std::vector<Entry>> RealTree::list_here(const std::string& path) const {
  const auto failed = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, fmt::format("{}: {}", printable(path), why));
  };
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(outside(path).c_str()));
  if (!folder) return failed(words_of(errno));
  std::vector<Entry> entries;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(folder.get());
    if (entry == nullptr && errno != 0) return failed(words_of(errno));
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (entries.size() == kMostEntries) return failed(fmt::format("more than {} entries", kMostEntries));
    // Some file systems leave the kind to stat(2).
    const FileKind kind = entry->d_type == DT_UNKNOWN ? look(join(path, name)).kind : kind_of_entry(entry->d_type);
    entries.push_back({std::move(name), kind});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

Result<std::unique_ptr<const doctor::Source>> RealTree::open_here(const std::string& path) const {
  const Node node = look(path);
  if (node.kind != FileKind::kFile)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {}", printable(path), node.why.empty() ? "not a regular file" : node.why));
  auto file = doctor::FileSource::open(outside(path));
  if (!file) return fail(Code::kInvalidArgument, printable(file.error().message, kLongestPath));
  return std::make_unique<const doctor::FileSource>(std::move(*file));
}

}  // namespace flashfit::doctor::dynamic_loader
