#include "doctor/environment/cuda_tools.hpp"

#include <algorithm>
#include <set>

#include "core/base/printable.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileTree;

CudaVersion version_in(const doctor::Source& source) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  constexpr std::uint64_t kMost = std::uint64_t{512} << 20;
  std::vector<std::byte> chunk(kChunk);
  doctor::CompilerRelease release;
  const std::uint64_t end = std::min(source.size(), kMost);
  for (std::uint64_t at = 0; at < end && release.version() == 0;) {
    const auto part = std::span(chunk).first(static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, end - at)));
    if (!source.read(at, part)) return 0;
    release.feed(at, part);
    at += part.size();
  }
  return release.version();
}

}  // namespace

std::vector<CudaTool> find_toolkits(const FileTree& tree, const std::string& home, const std::string& prefix) {
  std::vector<std::string> folders;
  if (!home.empty()) folders.push_back(home);
  if (const auto entries = tree.list("/usr/local"))
    for (const dynamic_loader::Entry& entry : *entries)
      if (entry.name.starts_with("cuda")) folders.push_back("/usr/local/" + entry.name);
  if (!prefix.empty()) folders.push_back(prefix);
  folders.emplace_back("/usr");
  std::vector<CudaTool> tools;
  std::set<std::string> seen;  // /usr/local/cuda is a link to one of the others
  for (const std::string& folder : folders)
    for (const char* const name : {"nvcc", "ptxas"}) {
      const dynamic_loader::Resolved at = tree.resolve(folder + "/bin/" + name);
      const auto kind = doctor::compiler_named(at.path);  // a link may lead to another program
      if (!kind || at.node.kind != dynamic_loader::FileKind::kFile || !seen.insert(at.path).second) continue;
      if (const auto source = tree.open(at.path))
        tools.push_back({*kind, printable(at.path, 300), "", version_in(**source)});
    }
  return tools;
}

}  // namespace flashfit::doctor::environment
