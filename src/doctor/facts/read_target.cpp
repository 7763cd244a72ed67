#include "doctor/facts/read_target.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "core/base/printable.hpp"
#include "doctor/bytes/limits.hpp"
#include "doctor/facts/read_binary.hpp"
#include "doctor/facts/read_parts.hpp"
#include "doctor/facts/read_wheel.hpp"
#include "doctor/facts/sdist.hpp"

namespace flashfit::doctor {
namespace {

namespace fs = std::filesystem;

TargetKind kind_of(const Binary& binary) {
  switch (binary.kind) {
    case BinaryKind::kElf:
    case BinaryKind::kPe:
    case BinaryKind::kMachO:
      return TargetKind::kLibrary;
    case BinaryKind::kObject:
      return TargetKind::kObject;
    case BinaryKind::kCubin:
      return TargetKind::kCubin;
    case BinaryKind::kFatbin:
      return TargetKind::kFatbin;
    case BinaryKind::kPtx:
      return TargetKind::kPtx;
  }
  return TargetKind::kOther;
}

std::string name_in(const std::string& path) { return fs::path(path).filename().string(); }

Target read_open(const FileSource& file, const std::string& path, const Progress& progress) {
  Target target{.target = path, .file_name = name_in(path)};
  target.files = 1;
  const SourceContent content(file);
  FactsBudget budget;
  const auto head = content.head(kHeadSize);
  if (!head) {
    target.errors.push_back(head.error().message);
  } else if (is_zip(*head)) {
    read_wheel(file, target, progress);
  } else if (is_gzip(*head)) {
    read_tar_sdist(file, target);
  } else if (auto binaries = read_binaries(content, "", budget); !binaries) {
    target.errors.push_back(binaries.error().message);
  } else {
    target.binaries = std::move(*binaries);
    const bool archive = as_text(*head).starts_with("!<arch>");
    if (archive) {
      target.kind = TargetKind::kArchive;
    } else if (!target.binaries.empty()) {
      target.kind = kind_of(target.binaries[0]);
    }
  }
  return target;
}

/// Folders elsewhere that links of a folder lead to.
constexpr std::size_t kMostLinked = 4096;
/// Folders that cannot be read, each said by name.
constexpr std::uint64_t kMostClosed = 8;

struct File {
  std::string path;
  std::uint64_t size = 0;
  dev_t device = 0;
  ino_t inode = 0;
};

class Walk {
 public:
  std::vector<File> files;
  std::vector<std::string> errors;

  void add(const fs::directory_entry& entry) {
    struct stat status = {};
    if (stat(entry.path().c_str(), &status) != 0) return;  // a link to nothing
    if (!S_ISREG(status.st_mode)) return;
    files.push_back({entry.path().string(), static_cast<std::uint64_t>(status.st_size), status.st_dev, status.st_ino});
  }
  /// Notes once that the rest of what is limited was not looked at.
  void leave_out(const Limit& limit) {
    const std::string why =
        fmt::format("{} beyond the limit of {}: the rest was not looked at", limit.what, limit.most);
    if (std::find(errors.begin(), errors.end(), why) == errors.end()) errors.push_back(why);
  }
  void read(const std::string& path) {
    std::error_code none;
    given_ = path;
    top_ = fs::canonical(path, none);
    for (std::vector<fs::path> left = {path}; !left.empty();) {
      const fs::path folder = std::move(left.back());
      left.pop_back();
      if (!read_tree(folder, left)) break;
    }
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.path < b.path; });
    std::set<std::pair<dev_t, ino_t>> seen;
    std::erase_if(files, [&](const File& f) { return !seen.emplace(f.device, f.inode).second; });
  }

 private:
  fs::path given_, top_;       ///< as it was named, and without links
  std::set<fs::path> behind_;  ///< folders that links lead to
  std::uint64_t name_bytes_ = 0, closed_ = 0;

  /// Whether a link leads to a folder elsewhere, to which none has led yet, as in environments that are made of links.
  /// One that holds `top_` is no part of it.
  bool leads_out(const fs::path& link) {
    std::error_code error;
    const fs::path to = fs::canonical(link, error);
    const auto holds = [](const fs::path& folder, const fs::path& other) {
      return std::mismatch(folder.begin(), folder.end(), other.begin(), other.end()).first == folder.end();
    };
    return !error && !holds(top_, to) && !holds(to, top_) &&
           std::none_of(behind_.begin(), behind_.end(), [&](const fs::path& one) { return holds(one, to); }) &&
           behind_.insert(to).second;
  }

  /// One folder with those below it; what links lead to is added to `left`. False at a limit.
  bool read_tree(const fs::path& path, std::vector<fs::path>& left) {
    std::error_code error, gone;
    fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      const bool link = at->is_symlink(gone);
      // The iterator passes over what it may not read, and says nothing.
      if (!link && at->is_directory(gone) && access(at->path().c_str(), R_OK | X_OK) != 0 && closed_++ < kMostClosed) {
        const std::string why = std::system_category().message(errno);
        errors.push_back(fmt::format("cannot be read: {}: {}", at->path().lexically_relative(given_).string(), why));
      }
      if (static_cast<std::uint64_t>(at.depth()) + 1 >= limits::kFolderDepth.most && at.recursion_pending()) {
        if (at->is_directory(gone) && !link) leave_out(limits::kFolderDepth);
        at.disable_recursion_pending();
      }
      name_bytes_ += at->path().native().size();
      if (files.size() == limits::kFiles.most || name_bytes_ > limits::kFolderNames.most) {
        leave_out(files.size() == limits::kFiles.most ? limits::kFiles : limits::kFolderNames);
        return false;
      }
      if (link && behind_.size() < kMostLinked && at->is_directory(gone) && leads_out(at->path()))
        left.push_back(at->path());
      add(*at);
    }
    if (error) errors.push_back("cannot be read: " + error.message());
    return true;
  }
};

Part read_part(const File& file, const std::string& relative, FactsBudget& budget) {
  Part part;
  // A wheel by its name is judged as one, whatever it holds: cut short, it may not even be an archive.
  if (file.path.ends_with(".whl")) {
    part.package = true;
    return part;
  }
  if (file.size == 0 || budget.exhausted()) return part;
  const auto source = FileSource::open(file.path);
  if (!source) {
    part.error = "cannot be opened: " + printable(relative);
    return part;
  }
  const SourceContent content(*source);
  const auto head = content.head(kHeadSize);
  if (!head) return part;  // shorter by now
  if (is_zip(*head) || is_gzip(*head)) {
    part.package = file.path.ends_with(".tar.gz");
    return part;
  }
  if (!may_be_binary(*head)) return part;
  auto binaries = read_binaries(content, relative, budget);
  if (binaries) {
    part.binaries = std::move(*binaries);
  } else {
    part.error = binaries.error().message + " in " + printable(relative);
  }
  return part;
}

}  // namespace

const char* name_of(BinaryKind kind) {
  constexpr const char* kNames[] = {"elf", "object", "pe", "mach-o", "cubin", "fatbin", "ptx"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name_of(TargetKind kind) {
  constexpr const char* kNames[] = {"wheel",  "sdist", "library",   "object", "archive",      "cubin",
                                    "fatbin", "ptx",   "directory", "name",   "distribution", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

Target read_file(const std::string& path, const Progress& progress) {
  const auto file = FileSource::open(path);
  if (file) return read_open(*file, path, progress);
  Target target{.target = path, .file_name = name_in(path)};
  // The message names the path, which the target's line already does.
  const std::string& why = file.error().message;
  target.errors.push_back("cannot be opened: " + (why.starts_with(path + ": ") ? why.substr(path.size() + 2) : why));
  return target;
}

Target read_directory(const std::string& path, std::vector<std::string>& packages, const Progress& progress) {
  Target target{.target = path, .file_name = name_in(path), .kind = TargetKind::kDirectory};
  Walk walk;
  walk.read(path);
  target.errors = std::move(walk.errors);
  const std::vector<File>& files = walk.files;
  target.files = files.size();
  const std::size_t prefix = path.size() + (path.ends_with('/') ? 0 : 1);
  std::vector<std::uint64_t> sizes;
  sizes.reserve(files.size());
  for (const File& file : files) sizes.push_back(file.size);
  FactsBudget budget;
  const auto read = [&](std::size_t i) {
    return read_part(files[i], files[i].path.substr(std::min(prefix, files[i].path.size())), budget);
  };
  for (const std::size_t i : read_parts(sizes, read, progress, target)) packages.push_back(files[i].path);
  return target;
}

}  // namespace flashfit::doctor
