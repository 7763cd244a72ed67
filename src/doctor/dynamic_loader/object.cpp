#include "doctor/dynamic_loader/object.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "doctor/binaries/elf_symbols.hpp"
#include "doctor/binaries/elf_version_definitions.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

constexpr std::uint64_t kHeaderSize = 64, kLongestInterpreter = 4096;

/// The loader's own test of a file's first bytes (elf/dl-load.c, open_verify), in its order and words.
Object judge_header(doctor::Bytes head, std::uint16_t machine) {
  const auto broken = [](const char* why) { return Object{.usable = Usable::kBroken, .why = why}; };
  if (head.size() < kHeaderSize) return broken("file too short");
  if (!doctor::is_elf(head)) return broken("invalid ELF header");
  doctor::Reader reader(head, 4);
  const std::uint8_t elf_class = reader.u8(), order = reader.u8(), version = reader.u8(), os_abi = reader.u8();
  if (elf_class != 2) return {.usable = Usable::kPassedOver, .why = "wrong ELF class: not 64-bit"};
  if (order != 1) return broken("ELF file data encoding not little-endian");
  if (version != 1) return broken("ELF file version ident does not match current one");
  if (!doctor::is_abi_of_linux(os_abi)) return broken("ELF file OS ABI invalid");
  reader.skip(8);
  const std::uint16_t type = reader.u16(), of = reader.u16();
  if (of != machine) return {.usable = Usable::kPassedOver, .why = "for another machine"};
  if (type != 2 && type != 3) return broken("only ET_DYN and ET_EXEC can be loaded");
  return {.type = static_cast<doctor::ElfType>(type)};
}

/// Whether a file of this size goes as far as its table of segments, which the loader reads next: one that was cut
/// short may not.
bool has_program_headers(doctor::Bytes head, std::uint64_t size) {
  doctor::Reader reader(head, 32);
  const std::uint64_t at = reader.u64();
  reader.skip(14);
  const std::uint64_t each = reader.u16(), count = reader.u16();
  return doctor::within(at, each * count, size);
}

std::string read_interpreter(const doctor::Source& source, const ElfSegment& segment) {
  const auto bytes = doctor::read_part(source, segment.offset, segment.size, kLongestInterpreter, "interpreter");
  return bytes ? std::string(doctor::text_at(*bytes, 0).value_or("")) : "";
}

/// A library that has such a version has all of its symbols.
bool is_runtime_version(std::string_view version) {
  for (const std::string_view prefix : {"GLIBC_", "GLIBCXX_", "CXXABI_", "GCC_"})
    if (version.starts_with(prefix)) return true;
  return false;
}

/// Symbols are read only where a version says that they matter: a large library's take a tenth of a second.
Result<void> fill_symbols(const doctor::Source& source, const doctor::Elf& elf,
                          const doctor::ElfVersionDefinitions& definitions, const doctor::ElfVersionNeeds& needs,
                          Object& object) {
  std::map<std::uint16_t, std::string_view> libraries;  // by the version's index
  std::set<std::uint16_t> own;
  for (const auto& need : needs.list)
    if (!is_runtime_version(need.version)) libraries.emplace(need.index, need.library);
  for (const auto& definition : definitions.list)
    if (!definition.base && !is_runtime_version(definition.version)) own.insert(definition.index);
  if (libraries.empty() && own.empty()) return {};
  const auto symbols = doctor::read_elf_symbols(source, elf, doctor::kSectionDynamicSymbols);
  if (!symbols) return tl::unexpected(symbols.error());
  for (const doctor::ElfSymbol& symbol : symbols->list) {
    if (symbol.defined() && own.contains(symbol.version)) object.symbols.emplace_back(symbol.name);
    if (symbol.defined() || symbol.weak()) continue;
    const auto library = libraries.find(symbol.version);
    if (library != libraries.end())
      object.symbols_wanted.push_back({std::string(library->second), std::string(symbol.name)});
  }
  std::sort(object.symbols.begin(), object.symbols.end());
  return {};
}

Result<void> fill_versions(const doctor::Source& source, const doctor::Elf& elf, Object& object) {
  const auto definitions = doctor::read_elf_version_definitions(source, elf);
  if (!definitions) return tl::unexpected(definitions.error());
  for (const auto& definition : definitions->list) object.versions.emplace_back(definition.version);
  const auto needs = doctor::read_elf_version_needs(source, elf);
  if (!needs) return tl::unexpected(needs.error());
  for (const auto& need : needs->list)
    object.wanted.push_back({std::string(need.library), std::string(need.version), need.weak});
  return fill_symbols(source, elf, *definitions, *needs, object);
}

}  // namespace

std::uint16_t elf_machine(std::string_view machine) {
  if (machine == "x86_64") return doctor::kMachineX86_64;
  return machine == "aarch64" ? doctor::kMachineAarch64 : 0;
}

Object read_object(const doctor::Source& source, std::uint16_t machine) {
  std::array<std::byte, kHeaderSize> head{};
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kHeaderSize, source.size()));
  if (!source.read(0, std::span(head).first(size))) return {.usable = Usable::kBroken, .why = "cannot read file data"};
  Object object = judge_header(std::span(head).first(size), machine);
  if (object.usable == Usable::kYes && !has_program_headers(std::span(head).first(size), source.size()))
    return {.usable = Usable::kBroken, .why = "cannot read file data"};
  if (object.usable != Usable::kYes) return object;
  const auto elf = doctor::read_elf(source);
  if (!elf) {
    object.why = elf.error().message;
    return object;
  }
  for (const ElfSegment& segment : elf->segments) {
    if (segment.type == doctor::kSegmentInterpreter) object.interpreter = read_interpreter(source, segment);
    if (segment.type != doctor::kSegmentTls) continue;
    object.tls_size = segment.memory_size;
    object.tls_alignment = std::max<std::uint64_t>(1, segment.alignment);
  }
  object.executable_stack = doctor::wants_executable_stack(*elf);
  auto dynamic = doctor::read_elf_dynamic(source, *elf);
  if (!dynamic) {
    object.why = dynamic.error().message;
    return object;
  }
  object.dynamic = std::move(*dynamic);
  // As the loader does: DT_RUNPATH silences DT_RPATH.
  if (!object.dynamic.runpath.empty()) object.dynamic.rpath.clear();
  if (auto filled = fill_versions(source, *elf, object); !filled) object.why = filled.error().message;
  return object;
}

}  // namespace flashfit::doctor::dynamic_loader
