#include "doctor/environment/cuda_tools.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileTree;

/// "release 12.8," of "Cuda compilation tools, release 12.8, V12.8.93": what nvcc, ptxas and NVRTC have among their
/// texts, beside a format "release %d.%d".
constexpr std::string_view kBanner = "Cuda compilation tools, release ";
constexpr std::size_t kBannerAndVersion = kBanner.size() + 8;

CudaVersion version_behind(std::string_view text) {
  int major = 0, minor = 0;
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto first = std::from_chars(begin, end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.' || major < 5 || major > 99) return 0;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  return second.ec != std::errc() || minor < 0 || minor > 9 ? 0 : major * 1000 + minor * 10;
}

CudaVersion version_in(const doctor::Source& source) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  constexpr std::uint64_t kMost = std::uint64_t{512} << 20;
  std::vector<std::byte> chunk(kChunk);
  for (std::uint64_t at = 0; at < std::min(source.size(), kMost);) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, source.size() - at));
    const auto part = std::span(chunk).first(size);
    if (!source.read(at, part)) return 0;
    const std::string_view text(reinterpret_cast<const char*>(part.data()), part.size());
    for (std::size_t found = text.find(kBanner); found != std::string_view::npos; found = text.find(kBanner, found + 1))
      if (const CudaVersion version = version_behind(text.substr(found + kBanner.size(), 8)); version != 0)
        return version;
    if (size < kChunk) break;
    at += size - kBannerAndVersion;  // one that spans two chunks
  }
  return 0;
}

}  // namespace

const char* name_of(CudaTool::Kind kind) {
  constexpr const char* kNames[] = {"nvcc", "ptxas", "nvrtc"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<CudaTool::Kind> tool_kind(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name == "nvcc" || name == "nvcc.exe") return CudaTool::Kind::kNvcc;
  // Triton packs one for Blackwell beside the other: "ptxas-blackwell".
  if (name == "ptxas" || name == "ptxas.exe" || name == "ptxas-blackwell") return CudaTool::Kind::kPtxas;
  if (name.starts_with("libnvrtc.so.")) return CudaTool::Kind::kNvrtc;
  return std::nullopt;
}

std::optional<CudaTool> read_cuda_tool(const FileTree& tree, const std::string& path) {
  const auto kind = tool_kind(path);
  if (!kind) return std::nullopt;
  const auto source = tree.open(path);
  if (!source) return std::nullopt;
  return CudaTool{.kind = *kind, .path = printable(path, 300), .package = "", .version = version_in(**source)};
}

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
      if (at.node.kind != dynamic_loader::FileKind::kFile || !seen.insert(at.path).second) continue;
      if (auto tool = read_cuda_tool(tree, at.path)) tools.push_back(std::move(*tool));
    }
  return tools;
}

}  // namespace flashfit::doctor::environment
