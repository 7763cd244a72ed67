#include <algorithm>

#include "doctor/binaries/elf_dynamic.hpp"
#include "doctor/binaries/elf_symbols.hpp"
#include "doctor/facts/all_collectors.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::size_t kMostShown = 3;  // symbols named for one version
// Many versions may share one long text of the file; the largest seen copies some 40 KB.
constexpr std::size_t kMostCopied = std::size_t{4} << 20;

Result<void> add_versions(const ElfSymbols& symbols, const ElfVersionNeeds& needs, Binary& binary) {
  std::vector<std::size_t> slot;  // by the index that symbols name
  std::size_t copied = 0;
  for (const ElfVersionNeed& need : needs.list) {
    if (need.weak) continue;
    copied += need.library.size() + need.version.size();
    if (copied > kMostCopied) return beyond("length of the needed versions", kMostCopied, 0);
    if (slot.size() <= need.index) slot.resize(std::size_t{need.index} + 1, SIZE_MAX);
    slot[need.index] = binary.versions.size();
    binary.versions.push_back({std::string(need.library), std::string(need.version), {}});
  }
  for (const ElfSymbol& symbol : symbols.list) {
    if (symbol.defined() || symbol.weak() || symbol.version >= slot.size() || slot[symbol.version] == SIZE_MAX)
      continue;
    auto& shown = binary.versions[slot[symbol.version]].symbols;
    if (shown.size() >= kMostShown) continue;
    copied += symbol.name.size();
    if (copied > kMostCopied) return beyond("length of the needed versions", kMostCopied, 0);
    shown.emplace_back(symbol.name);
  }
  return {};
}

}  // namespace

Result<void> collect_elf_needs(const Source& source, const Elf& elf, Binary& binary) {
  binary.executable_stack = wants_executable_stack(elf);
  auto dynamic = read_elf_dynamic(source, elf);
  if (!dynamic) return tl::unexpected(dynamic.error());
  binary.needed = std::move(dynamic->needed);
  binary.soname = std::move(dynamic->soname);
  binary.rpath = std::move(dynamic->rpath);
  binary.runpath = std::move(dynamic->runpath);
  binary.static_tls = dynamic->static_tls;
  const auto symbols = read_elf_symbols(source, elf, kSectionDynamicSymbols);
  if (!symbols) return tl::unexpected(symbols.error());
  const auto needs = read_elf_version_needs(source, elf);
  if (!needs) return tl::unexpected(needs.error());
  return add_versions(*symbols, *needs, binary);
}

Result<void> collect_pe_needs(const Source&, const Pe& pe, Binary& binary) {
  for (const PeImport& import : pe.imports) binary.needed.push_back(import.library);
  return {};
}

}  // namespace flashfit::doctor
