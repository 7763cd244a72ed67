#include "doctor/environment/native_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "core/base/printable.hpp"
#include "doctor/facts/binary_format.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileKind;
using dynamic_loader::FileTree;

constexpr std::uint64_t kMostFiles = 2'000'000, kMostSources = 100'000;
constexpr std::size_t kDeepest = 64;     // folders below the first
constexpr std::uint64_t kSmallest = 64;  // bytes: the least header that any reader takes

/// Sorted, for a binary search.
constexpr auto kNoCode = std::to_array<std::string_view>(
    {"bmp",   "c",     "cc",   "cfg", "cmake", "conf", "cpp",   "css",    "csv", "cu",   "cuh", "cxx",      "dat",
     "gif",   "gz",    "h",    "h5",  "hpp",   "html", "hxx",   "icns",   "ico", "in",   "inc", "ini",      "inl",
     "ipynb", "jinja", "jpeg", "jpg", "js",    "json", "jsonl", "ll",     "log", "map",  "mat", "md",       "mdx",
     "mo",    "npy",   "npz",  "otf", "pbtxt", "pdf",  "pem",   "pickle", "pkl", "png",  "po",  "proto",    "pth",
     "pxd",   "pxi",   "py",   "pyc", "pyi",   "pyx",  "rst",   "sh",     "sql", "svg",  "tcl", "template", "toml",
     "ts",    "tsv",   "ttf",  "txt", "typed", "wav",  "woff",  "woff2",  "xml", "yaml", "yml"});

bool may_hold_code(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return true;
  return !std::binary_search(kNoCode.begin(), kNoCode.end(), name.substr(dot + 1));
}

bool is_walked(std::string_view folder) {
  return folder != "__pycache__" && folder != ".git" && folder != "node_modules" && !folder.ends_with(".dist-info") &&
         !folder.ends_with(".egg-info");
}

using Enters = std::function<bool(const std::string& path, const std::string& name)>;

bool is_within(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder == "/" ? folder : folder + "/");
}

struct Walk {
  const FileTree& tree;
  const std::string& top;
  std::uint64_t most;
  Enters enters;
  bool follows = false;  ///< links to folders elsewhere, as those that environments are made of (Nix, Bazel)

  struct Folder {
    std::string path;  ///< as its files are named
    std::string here;  ///< without links
    std::size_t depth = 0;
    bool linked = false;  ///< lies behind a link that leads out of `top`
  };
  Walked walked = {};
  std::vector<Folder> left = {{top, top}};
  std::set<dynamic_loader::FileId> seen = {};
  std::set<std::string> entered = {};  ///< folders behind links
  std::uint64_t seen_behind_links = 0;

  void run() {
    while (!left.empty()) {
      const Folder folder = std::move(left.back());
      left.pop_back();
      const auto entries = tree.list_here(folder.here);
      if (!entries) {
        walked.unread.push_back(entries.error().message);
        continue;
      }
      for (const dynamic_loader::Entry& entry : *entries)
        if (!take(folder, entry)) return;
    }
  }

  /// False: the rest is not looked at.
  bool take(const Folder& folder, const dynamic_loader::Entry& entry) {
    std::string path = folder.path + "/" + entry.name;
    if (entry.kind == FileKind::kFolder) {
      enter(folder, std::move(path), entry.name, folder.here + "/" + entry.name, folder.linked);
      return true;
    }
    if (++walked.seen > most || (folder.linked && ++seen_behind_links > kMostSources)) {
      walked.unread.push_back(fmt::format("{}: more than {} files{}: the rest was not looked at", printable(top, 300),
                                          walked.seen > most ? most : kMostSources,
                                          walked.seen > most ? "" : " behind links that lead out of it"));
      return false;
    }
    if (folder.depth == 0 && entry.kind == FileKind::kFile && entry.name.ends_with(".egg"))
      walked.unread.push_back(printable(path, 300) + ": a zipped egg: its files were not read; name it as a target");
    if (!may_hold_code(entry.name) || (entry.kind != FileKind::kFile && entry.kind != FileKind::kLink)) return true;
    dynamic_loader::Node node =
        entry.kind == FileKind::kFile ? tree.look(folder.here + "/" + entry.name) : dynamic_loader::Node{};
    if (entry.kind == FileKind::kLink) {
      dynamic_loader::Resolved to = tree.resolve(path);
      // A link beside its file is another name of it, and the walk comes to that file itself. One that leads out
      // keeps its own name: the hub's cache and some installers keep files elsewhere, under names that tell nothing.
      if (is_within(to.path, top)) return true;
      if (to.node.kind == FileKind::kFolder) {
        // What holds `top` is no part of it: its other folders are not imported.
        if (follows && !is_within(top, to.path)) enter(folder, std::move(path), entry.name, std::move(to.path), true);
        return true;
      }
      node = std::move(to.node);
    }
    const bool too_small = node.size < kSmallest && !doctor::is_named_as_code(path);
    if (node.kind != FileKind::kFile || too_small || !seen.insert(node.id).second) return true;
    walked.files.push_back({std::move(path), node.id, node.size, std::move(node.stamp), node.changed});
    return true;
  }

  void enter(const Folder& folder, std::string path, const std::string& name, std::string here, bool linked) {
    if (!enters(path, name) || folder.depth >= kDeepest) return;
    // Links may lead to one folder several times, or in a circle.
    if (linked && !entered.insert(here).second) return;
    left.push_back({std::move(path), std::move(here), folder.depth + 1, linked});
  }
};

Walked walk(Walk walk) {
  walk.run();
  std::sort(walk.walked.files.begin(), walk.walked.files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return std::move(walk.walked);
}

}  // namespace

Walked find_native_files(const FileTree& tree, const std::string& top) {
  return walk({.tree = tree,
               .top = top,
               .most = kMostFiles,
               .enters = [](const std::string&, const std::string& name) { return is_walked(name); },
               .follows = true});
}

Walked find_native_sources(const FileTree& tree, const std::string& top, const std::string& but) {
  return walk(
      {.tree = tree, .top = top, .most = kMostSources, .enters = [&](const std::string& path, const std::string& name) {
         return is_walked(name) && !name.starts_with('.') && name != "build" && path != but;
       }});
}

}  // namespace flashfit::doctor::environment
