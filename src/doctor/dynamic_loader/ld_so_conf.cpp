#include "doctor/dynamic_loader/ld_so_conf.hpp"

#include <algorithm>
#include <set>

#include "core/base/ascii.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

constexpr std::uint64_t kMostText = std::uint64_t{64} << 10;
constexpr std::size_t kMostFolders = 4096, kDeepest = 8, kMostFiles = 1024;

struct File {
  std::string path;
  std::size_t depth = 0;
};

/// The files that a pattern names: '*' and '?' may stand in its last part alone, as everywhere in practice.
std::vector<File> included(const FileTree& tree, std::string pattern, const File& by) {
  if (pattern.front() != '/') pattern = join(parent_of(by.path), pattern);
  const std::size_t slash = pattern.rfind('/');
  const std::string folder = pattern.substr(0, std::max<std::size_t>(1, slash)), last = pattern.substr(slash + 1);
  std::vector<File> files;
  if (last.find_first_of("*?") == std::string::npos) return {{pattern, by.depth + 1}};
  const auto entries = tree.list(folder);
  if (!entries) return files;
  for (const Entry& entry : *entries)
    if (!entry.name.starts_with('.') && fits_pattern(entry.name, last))
      files.push_back({join(folder, entry.name), by.depth + 1});
  return files;
}

}  // namespace

bool fits_pattern(std::string_view name, std::string_view pattern) {
  // Goes back to the last '*' alone, so the time is that of name times pattern at most.
  std::size_t n = 0, p = 0, star = std::string_view::npos, star_n = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_n = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_n;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string> read_ld_so_conf(const FileTree& tree, const std::string& path) {
  struct Line {
    std::string text;
    File file;
  };
  std::vector<std::string> folders;
  std::set<std::string> read;
  // What is still to be done, the next at the end: an included file's lines come before the rest of its includer's.
  std::vector<Line> todo{{"include " + path, {"/", 0}}};
  while (!todo.empty() && folders.size() < kMostFolders) {
    const Line line = std::move(todo.back());
    todo.pop_back();
    std::string_view text = std::string_view(line.text).substr(0, line.text.find('#'));
    text = trimmed(text);
    if (text.empty() || text.find('\0') != std::string_view::npos) continue;
    if (text.starts_with("include") && text.size() > 7 && is_space(text[7])) {
      // One line may name several.
      std::vector<File> files;
      std::string_view rest = trimmed(text.substr(7));
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
        for (File& file : included(tree, std::string(rest.substr(0, end)), line.file)) files.push_back(std::move(file));
        rest = trimmed(rest.substr(end));
      }
      std::vector<Line> lines;
      for (const File& file : files) {
        if (file.depth > kDeepest || read.size() == kMostFiles || !read.insert(file.path).second) continue;
        const auto content = read_text(tree, file.path, kMostText);
        if (!content) continue;
        for (const std::string_view part : split(*content, '\n')) lines.push_back({std::string(part), file});
      }
      todo.insert(todo.end(), std::make_move_iterator(lines.rbegin()), std::make_move_iterator(lines.rend()));
      continue;
    }
    if (text.starts_with("hwcap ") || text.front() != '/') continue;
    // "/usr/local/lib=libc5" told old systems which C library a folder is for.
    std::string folder(trimmed(text.substr(0, text.find('='))));
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(std::move(folder));
  }
  return folders;
}

}  // namespace flashfit::doctor::dynamic_loader
