#include "doctor/made/library.hpp"

#include <algorithm>
#include <map>

namespace flashfit::doctor::test {
namespace {

/// Texts one after the other, each once.
class Texts {
 public:
  std::size_t add(const std::string& text) {
    const auto [found, added] = places_.try_emplace(text, bytes_.size());
    if (added) bytes_.add(text).u8(0);
    return found->second;
  }
  const MadeBytes& bytes() const { return bytes_; }

 private:
  MadeBytes bytes_ = MadeBytes().u8(0);
  std::map<std::string, std::size_t> places_ = {{"", 0}};
};

/// A number for each pair of library and version, from 2 on.
using Versions = std::map<std::pair<std::string, std::string>, std::size_t>;

Versions versions_of(const MadeLibrary& library) {
  Versions versions;
  for (const MadeImport& import : library.imports)
    if (!import.version.empty()) versions.try_emplace({import.library, import.version}, versions.size() + 2);
  return versions;
}

MadeBytes symbols_of(const MadeLibrary& library, Texts& texts) {
  MadeBytes symbols;
  symbols.zeros(24);
  for (const MadeImport& import : library.imports)
    symbols.u32(texts.add(import.name)).u8(import.weak ? 0x22 : 0x12).u8(0).u16(0).u64(0).u64(0);
  for (const std::string& name : library.exports) symbols.u32(texts.add(name)).u8(0x12).u8(0).u16(1).u64(0x100).u64(8);
  return symbols;
}

MadeBytes symbol_versions_of(const MadeLibrary& library, const Versions& versions) {
  MadeBytes bytes;
  bytes.u16(0);
  for (const MadeImport& import : library.imports)
    bytes.u16(import.version.empty() ? 1 : versions.at({import.library, import.version}));
  const std::size_t last = library.defines.empty() ? 1 : versions.size() + 1 + library.defines.size();
  for (std::size_t i = 0; i < library.exports.size(); ++i) bytes.u16(last);
  return bytes;
}

/// One record a library, each followed by its versions' records.
MadeBytes needs_of(const Versions& versions, bool weak, Texts& texts, std::size_t& libraries) {
  MadeBytes bytes;
  for (auto it = versions.begin(); it != versions.end(); ++libraries) {
    const std::string& name = it->first.first;
    const auto end = std::find_if(it, versions.end(), [&](auto& v) { return v.first.first != name; });
    const auto count = static_cast<std::size_t>(std::distance(it, end));
    bytes.u16(1).u16(count).u32(texts.add(name)).u32(16).u32(end == versions.end() ? 0 : 16 * (count + 1));
    for (; it != end; ++it)
      bytes.u32(0)
          .u16(weak ? 2 : 0)
          .u16(it->second)
          .u32(texts.add(it->first.second))
          .u32(std::next(it) == end ? 0 : 16);
  }
  return bytes;
}

/// The library's own name, then its versions, whose numbers follow those of the needs.
MadeBytes definitions_of(const MadeLibrary& library, const Versions& versions, Texts& texts) {
  MadeBytes bytes;
  if (library.defines.empty()) return bytes;
  const auto add = [&](const std::string& name, std::size_t index, bool last) {
    bytes.u16(1)
        .u16(index == 1 ? 1 : 0)
        .u16(index)
        .u16(1)
        .u32(0)
        .u32(20)
        .u32(last ? 0 : 28)
        .u32(texts.add(name))
        .u32(0);
  };
  add(library.soname, 1, false);
  for (std::size_t i = 0; i < library.defines.size(); ++i)
    add(library.defines[i], versions.size() + 2 + i, i + 1 == library.defines.size());
  return bytes;
}

/// One bucket that chains every symbol, or the exported ones alone in the newer form.
MadeBytes hash_of(const MadeLibrary& library) {
  const std::size_t hidden = 1 + library.imports.size(), all = hidden + library.exports.size();
  MadeBytes bytes;
  if (!library.gnu_hash) {
    bytes.u32(1).u32(all).u32(all > 1 ? 1 : 0);
    for (std::size_t i = 0; i < all; ++i) bytes.u32(i == 0 || i + 1 == all ? 0 : i + 1);
    return bytes;
  }
  bytes.u32(1).u32(hidden).u32(1).u32(6).u64(~0ULL).u32(all > hidden ? hidden : 0);
  for (std::size_t i = hidden; i < all; ++i) bytes.u32(i + 1 == all ? 1 : 0);
  return bytes;
}

MadeBytes isa_note(unsigned bits) {
  return MadeBytes().u32(4).u32(16).u32(5).add("GNU").u8(0).u32(0xc0008002).u32(4).u32(bits).u32(0);
}

}  // namespace

MadeElf MadeLibrary::elf() const {
  Texts texts;
  const Versions versions = versions_of(*this);
  const MadeBytes symbols = symbols_of(*this, texts), indices = symbol_versions_of(*this, versions);
  std::size_t libraries = 0;
  const MadeBytes needs = needs_of(versions, weak_versions, texts, libraries),
                  definitions = definitions_of(*this, versions, texts);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
  for (const std::string& name : needed) entries.emplace_back(1, texts.add(name));
  if (!soname.empty()) entries.emplace_back(14, texts.add(soname));
  if (!runpath.empty()) entries.emplace_back(29, texts.add(runpath));
  if (!rpath.empty()) entries.emplace_back(15, texts.add(rpath));
  if (static_tls) entries.emplace_back(30, 16);

  MadeElf elf{.type = 3, .machine = machine, .sections = {}, .segments = {}, .section_table = section_table};
  // Sections that are not always there, by their places in the file.
  const std::size_t dynamic_at = defines.empty() ? 6 : 7;
  std::size_t next = dynamic_at + 1;
  elf.segments = {{1, 5, 0}, {2, 6, dynamic_at}, {0x6474e551, executable_stack ? 7U : 6U, 0}};
  if (isa_needed != 0) elf.segments.push_back({4, 4, next++});
  if (tls_size != 0) elf.segments.push_back({7, 4, next++});
  if (!interpreter.empty()) elf.segments.push_back({3, 4, next++});
  elf.sections.push_back({.name = ".dynstr", .type = 3, .content = texts.bytes().bytes()});
  elf.sections.push_back({.name = ".dynsym", .type = 11, .link = 1, .content = symbols.bytes()});
  elf.sections.push_back({.name = ".gnu.version", .type = 0x6fffffff, .link = 2, .content = indices.bytes()});
  // An empty table of needs is none.
  elf.sections.push_back({.name = ".gnu.version_r",
                          .type = needs.size() > 0 ? 0x6ffffffeU : 1U,
                          .link = 1,
                          .info = static_cast<std::uint32_t>(libraries),
                          .content = needs.bytes()});
  elf.sections.push_back({.name = gnu_hash ? ".gnu.hash" : ".hash",
                          .type = gnu_hash ? 0x6ffffff6U : 5U,
                          .link = 2,
                          .content = hash_of(*this).bytes()});
  entries.insert(entries.end(), {{5, elf.offset(1)}, {10, texts.bytes().size()}, {6, elf.offset(2)}, {11, 24}});
  entries.emplace_back(gnu_hash ? 0x6ffffef5 : 4, elf.offset(5));
  entries.emplace_back(0x6ffffff0, elf.offset(3));
  if (needs.size() > 0) {
    entries.emplace_back(0x6ffffffe, elf.offset(4));
    entries.emplace_back(0x6fffffff, libraries);
  }
  if (!defines.empty()) {
    elf.sections.push_back({.name = ".gnu.version_d",
                            .type = 0x6ffffffd,
                            .link = 1,
                            .info = static_cast<std::uint32_t>(defines.size() + 1),
                            .content = definitions.bytes()});
    entries.insert(entries.end(), {{0x6ffffffc, elf.offset(6)}, {0x6ffffffd, defines.size() + 1}});
  }
  entries.emplace_back(0, 0);
  MadeBytes dynamic;
  for (const auto& [tag, value] : entries) dynamic.u64(tag).u64(value);
  elf.sections.push_back({.name = ".dynamic", .type = 6, .link = 1, .content = dynamic.bytes()});
  if (isa_needed != 0)
    elf.sections.push_back({.name = ".note.gnu.property", .type = 7, .content = isa_note(isa_needed).bytes()});
  if (tls_size != 0) elf.sections.push_back({.name = ".tdata", .content = MadeBytes().zeros(tls_size).bytes()});
  if (!interpreter.empty())
    elf.sections.push_back({.name = ".interp", .content = MadeBytes().add(interpreter).u8(0).bytes()});
  if (!data.empty()) elf.sections.push_back({.name = ".rodata", .content = data});
  if (!gpu_code.empty()) elf.sections.push_back({.name = ".nv_fatbin", .content = gpu_code});
  if (!relocatable_gpu_code.empty())
    elf.sections.push_back({.name = "__nv_relfatbin", .content = relocatable_gpu_code});
  return elf;
}

}  // namespace flashfit::doctor::test
