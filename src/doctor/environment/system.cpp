#include "doctor/environment/system.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/binaries/elf.hpp"
#include "doctor/binaries/elf_version_definitions.hpp"
#include "doctor/packaging/version.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileKind;
using dynamic_loader::FileTree;

constexpr std::uint64_t kMostText = 1 << 16;
constexpr std::size_t kMostCpuInfo = 1 << 20;

std::string unquoted(std::string_view text) {
  text = trimmed(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return printable(text);
}

/// x86-64 psABI, "Micro-Architecture Levels", in the words of /proc/cpuinfo (abm stands for lzcnt, pni for SSE3).
constexpr auto kLevel2 =
    std::to_array<std::string_view>({"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"});
constexpr auto kLevel3 =
    std::to_array<std::string_view>({"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"});
constexpr auto kLevel4 = std::to_array<std::string_view>({"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"});

/// The value of "key : value", of the first processor.
std::string_view value_of(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
      return trimmed(line.substr(colon + 1));
  }
  return {};
}

/// "GNU C Library (Debian GLIBC 2.36-9+deb12u8) stable release version 2.36." stands among its texts.
std::string glibc_by_banner(const doctor::Source& library) {
  constexpr std::string_view kBanner = "stable release version ";
  const auto bytes = doctor::read_part(library, 0, library.size(), std::uint64_t{16} << 20, "libc.so.6");
  if (!bytes) return "";
  const std::string_view text = doctor::as_text(*bytes);
  const std::size_t at = text.find(kBanner);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + kBanner.size(), 8);
  const std::string_view number = rest.substr(0, std::min(rest.find_first_not_of("0123456789."), rest.size()));
  return std::string(number.ends_with('.') ? number.substr(0, number.size() - 1) : number);
}

/// Every release defines a version of its own: GLIBC_2.36.
std::string glibc_by_definitions(const doctor::Source& library) {
  constexpr std::string_view kPrefix = "GLIBC_";
  const auto elf = doctor::read_elf(library);
  const auto definitions = elf ? doctor::read_elf_version_definitions(library, *elf) : tl::unexpected(elf.error());
  if (!definitions) return "";
  std::optional<doctor::Version> newest;
  for (const doctor::ElfVersionDefinition& definition : definitions->list) {
    if (!definition.version.starts_with(kPrefix)) continue;  // GLIBC_PRIVATE is no version
    auto version = doctor::parse_version(definition.version.substr(kPrefix.size()));
    if (version && (!newest || *newest < *version)) newest = std::move(*version);
  }
  return newest ? newest->text : "";
}

}  // namespace

std::string os_of(const FileTree& tree) {
  for (const char* const path : {"/etc/os-release", "/usr/lib/os-release"}) {
    const auto text = dynamic_loader::read_text(tree, path, kMostText);
    if (!text) continue;
    for (const std::string_view line : split(*text, '\n'))
      if (line.starts_with("PRETTY_NAME=")) return unquoted(line.substr(12));
  }
  return "";
}

std::string glibc_of(const FileTree& tree) {
  for (const char* const path : {"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
                                 "/lib/aarch64-linux-gnu/libc.so.6", "/usr/lib/libc.so.6", "/lib/libc.so.6"}) {
    const auto source = tree.open(path);
    if (!source) continue;
    if (std::string version = glibc_by_banner(**source); !version.empty()) return version;
    if (std::string version = glibc_by_definitions(**source); !version.empty()) return version;
  }
  return "";
}

bool has_musl(const FileTree& tree) {
  const auto entries = tree.list("/lib");
  return entries && std::any_of(entries->begin(), entries->end(),
                                [](const dynamic_loader::Entry& entry) { return entry.name.starts_with("ld-musl-"); });
}

std::string container_of(const FileTree& tree) {
  if (is_file(tree, "/.dockerenv")) return "docker";
  if (is_file(tree, "/run/.containerenv")) return "podman";
  if (is_folder(tree, "/var/run/secrets/kubernetes.io")) return "kubernetes";
  return "";
}

Processor read_processor(const std::string& cpuinfo) {
  Processor processor{.name = printable(value_of(cpuinfo, "model name"))};
  std::vector<std::string_view> flags = split(value_of(cpuinfo, "flags"), ' ');
  if (flags.size() < 2) return processor;
  std::sort(flags.begin(), flags.end());
  const auto has_all = [&](const auto& names) {
    return std::all_of(names.begin(), names.end(),
                       [&](std::string_view name) { return std::binary_search(flags.begin(), flags.end(), name); });
  };
  if (!std::binary_search(flags.begin(), flags.end(), std::string_view("lm"))) return processor;
  processor.x86_level = !has_all(kLevel2) ? 1 : !has_all(kLevel3) ? 2 : !has_all(kLevel4) ? 3 : 4;
  return processor;
}

Processor processor_here() {
  std::ifstream file("/proc/cpuinfo");
  std::string text(kMostCpuInfo, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return read_processor(text);
}

Processor processor_of(const FileTree& tree) {
  return read_processor(dynamic_loader::read_text(tree, "/proc/cpuinfo", kMostCpuInfo).value_or(""));
}

std::set<std::string> system_libraries(const FileTree& tree, const std::string& prefix, const Variables& variables) {
  std::vector<std::string> folders = folders_of(variables.library_path);
  for (const char* const folder : {"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                   "/usr/lib64", "/lib64", "/usr/lib", "/usr/local/lib"})
    folders.emplace_back(folder);
  if (const auto entries = tree.list("/usr/local"))
    for (const dynamic_loader::Entry& entry : *entries)
      if (entry.name.starts_with("cuda")) folders.push_back("/usr/local/" + entry.name + "/lib64");
  if (!prefix.empty()) folders.push_back(prefix + "/lib");
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    if (!folder.starts_with('/')) continue;
    if (const auto entries = tree.list(folder))
      for (const dynamic_loader::Entry& entry : *entries)
        if (entry.kind != FileKind::kFolder && entry.name.find(".so") != std::string::npos) names.insert(entry.name);
  }
  return names;
}

}  // namespace flashfit::doctor::environment
