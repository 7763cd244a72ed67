#include "doctor/dynamic_loader/search_path.hpp"

#include <algorithm>
#include <utility>

#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

/// The length of `name` at the start of `text`, which stands behind a '$', with its braces; 0: another text.
std::size_t token_length(std::string_view text, std::string_view name) {
  const bool braces = text.starts_with('{');
  if (!text.substr(braces ? 1 : 0).starts_with(name)) return 0;
  if (!braces) return name.size();
  return text.substr(name.size() + 1).starts_with('}') ? name.size() + 2 : 0;
}

}  // namespace

std::optional<std::string> expand_tokens(std::string_view text, const PathTokens& tokens) {
  const std::pair<std::string_view, const std::string&> known[] = {
      {"ORIGIN", tokens.origin}, {"PLATFORM", tokens.platform}, {"LIB", tokens.lib}};
  std::string out;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    out += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty() || out.size() > FileTree::kLongestPath) break;
    text.remove_prefix(1);
    std::size_t length = 0;
    for (const auto& [name, value] : known) {
      length = token_length(text, name);
      if (length == 0) continue;
      if (value.empty()) return std::nullopt;
      out += value;
      break;
    }
    if (length == 0) out += '$';
    text.remove_prefix(length);
  }
  if (out.size() > FileTree::kLongestPath) return std::nullopt;
  return out;
}

std::vector<std::string> split_search_path(std::string_view list, std::string_view separators, const PathTokens& tokens,
                                           const std::string& current) {
  // Longer lists are nobody's.
  constexpr std::size_t kMostFolders = 4096;
  std::vector<std::string> folders;
  for (bool last = list.empty(); !last && folders.size() < kMostFolders;) {
    const std::size_t end = std::min(list.find_first_of(separators), list.size());
    auto folder = expand_tokens(list.substr(0, end), tokens);
    last = end == list.size();
    if (!last) list.remove_prefix(end + 1);
    if (!folder) continue;
    if (folder->empty() || folder->front() != '/') {
      if (current.empty()) continue;
      folder = folder->empty() ? current : join(current, *folder);
    }
    while (folder->size() > 1 && folder->back() == '/') folder->pop_back();
    if (std::find(folders.begin(), folders.end(), *folder) == folders.end()) folders.push_back(std::move(*folder));
  }
  return folders;
}

}  // namespace flashfit::doctor::dynamic_loader
