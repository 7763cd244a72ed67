#include "doctor/dynamic_loader/file_tree.hpp"

#include "core/base/printable.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

Resolved nowhere(std::string path, std::string why) {
  return {.path = std::move(path), .node = {.kind = FileKind::kNone, .why = std::move(why)}};
}

/// Cuts the first part off `rest`; "" where only '/' are left.
std::string take_part(std::string& rest) {
  const std::size_t begin = rest.find_first_not_of('/');
  if (begin == std::string::npos) {
    rest.clear();
    return {};
  }
  const std::size_t end = std::min(rest.find('/', begin), rest.size());
  std::string part = rest.substr(begin, end - begin);
  rest.erase(0, end);
  return part;
}

}  // namespace

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

bool is_file(const FileTree& tree, std::string_view path) { return tree.resolve(path).node.kind == FileKind::kFile; }
bool is_folder(const FileTree& tree, std::string_view path) {
  return tree.resolve(path).node.kind == FileKind::kFolder;
}

std::string join(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (path.empty() || path.back() != '/') path += '/';
  return path.append(name);
}

Resolved FileTree::resolve(std::string_view path) const {
  if (path.empty() || path.front() != '/') return nowhere(std::string(path), "not an absolute path");
  if (path.size() > kLongestPath) return nowhere("/", "path too long");
  std::string rest(path), at = "/";
  Node node = look(at);
  for (std::size_t links = 0;;) {
    const std::string part = take_part(rest);
    if (part.empty()) return {.path = at, .node = std::move(node)};
    if (node.kind != FileKind::kFolder) return nowhere(at, node.kind == FileKind::kNone ? node.why : "not a folder");
    if (part == ".") continue;
    if (part == "..") {
      at = parent_of(at);
      node = look(at);
      continue;
    }
    std::string next = join(at, part);
    if (next.size() > kLongestPath) return nowhere(at, "path too long");
    Node found = look(next);
    if (found.kind != FileKind::kLink) {
      at = std::move(next);
      node = std::move(found);
      continue;
    }
    if (++links > kMostLinks) return nowhere(next, "too many links, which may be a loop");
    if (found.target.empty()) return nowhere(next, "a link to nothing");
    if (found.target.size() + rest.size() > kLongestPath) return nowhere(next, "path too long");
    rest.insert(0, found.target + (rest.empty() ? "" : "/"));
    if (found.target.front() == '/') {
      at.assign(1, '/');
      node = look(at);
    }
  }
}

Result<std::vector<Entry>> FileTree::list(std::string_view path) const {
  const Resolved found = resolve(path);
  if (found.node.kind == FileKind::kFolder) return list_here(found.path);
  return fail(Code::kInvalidArgument,
              fmt::format("{}: {}", printable(path), found.node.why.empty() ? "not a folder" : found.node.why));
}

Result<std::unique_ptr<const doctor::Source>> FileTree::open(std::string_view path) const {
  const Resolved found = resolve(path);
  if (found.node.kind == FileKind::kFile) return open_here(found.path);
  return fail(Code::kInvalidArgument,
              fmt::format("{}: {}", printable(path), found.node.why.empty() ? "not a regular file" : found.node.why));
}

Result<std::string> read_text(const FileTree& tree, std::string_view path, std::uint64_t limit) {
  const auto source = tree.open(path);
  if (!source) return tl::unexpected(source.error());
  const auto bytes = doctor::read_part(**source, 0, (*source)->size(), limit, "text");
  if (!bytes) return fail(Code::kInvalidArgument, fmt::format("{}: {}", printable(path), bytes.error().message));
  return std::string(doctor::as_text(*bytes));
}

}  // namespace flashfit::doctor::dynamic_loader
