#include "doctor/made/elf.hpp"

namespace flashfit::doctor::test {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) { return MadeBytes().add(text).bytes(); }

std::size_t bits(const MadeSection& section) { return section.type == 8 ? 0 : section.content.size(); }

}  // namespace

std::size_t MadeElf::offset(std::size_t section) const {
  std::size_t at = 64 + 56 * segments.size();
  for (std::size_t i = 0; i + 1 < section; ++i) at = (at + bits(sections[i]) + 7) / 8 * 8;
  return at;
}

std::vector<std::byte> MadeElf::bytes() const {
  const std::size_t names_at = offset(sections.size() + 1);
  MadeBytes names;
  names.u8(0);
  std::vector<std::size_t> name_at;
  for (const MadeSection& section : sections) {
    name_at.push_back(names.size());
    names.add(section.name).u8(0);
  }
  const std::size_t table = (names_at + names.size() + 7) / 8 * 8;
  const std::size_t whole = section_table ? table + 64 * (sections.size() + 2) : names_at;

  MadeBytes out;
  out.add(
      "\x7f"
      "ELF\2\1\1");
  out.u8(os_abi).u8(abi_version).zeros(7).u16(type).u16(machine).u32(version).u64(0).u64(segments.empty() ? 0 : 64);
  out.u64(section_table ? table : 0).u32(flags).u16(64).u16(56).u16(segments.size()).u16(64);
  out.u16(section_table ? sections.size() + 2 : 0).u16(section_table ? sections.size() + 1 : 0);
  for (const Segment& s : segments) {
    const std::size_t at = s.section == 0 ? 0 : offset(s.section);
    const std::size_t size = s.section == 0 ? whole : bits(sections[s.section - 1]);
    out.u32(s.type).u32(s.flags).u64(at).u64(at).u64(at).u64(size).u64(size).u64(8);
  }
  for (const MadeSection& section : sections) {
    if (section.type != 8) out.add(section.content);
    out.align(8);
  }
  if (!section_table) return out.bytes();
  out.add(names.bytes()).align(8).zeros(64);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const MadeSection& s = sections[i];
    const std::size_t size = s.type == 8 ? s.size : s.content.size();
    out.u32(name_at[i]).u32(s.type).u64(0).u64(offset(i + 1)).u64(offset(i + 1)).u64(size).u32(s.link).u32(s.info);
    out.u64(8).u64(0);
  }
  out.u32(0).u32(3).u64(0).u64(0).u64(names_at).u64(names.size()).zeros(24);
  return out.bytes();
}

MadeElf make_library(Bytes fatbin, bool executable_stack) {
  MadeElf elf;
  elf.segments = {{1, 5, 0}, {2, 6, 5}, {0x6474e551, executable_stack ? 7U : 6U, 0}};
  //                  0 1          11         19  23          34           46
  const std::string names("\0libc.so.6\0old_need\0own\0GLIBC_2.34\0libmade.so\0$ORIGIN\0", 54);
  elf.sections.push_back({.name = ".dynstr", .type = 3, .content = bytes_of(names)});
  MadeBytes symbols;
  symbols.zeros(24).u32(11).u8(0x12).u8(0).u16(0).u64(0).u64(0).u32(20).u8(0x12).u8(0).u16(5).u64(0x100).u64(8);
  elf.sections.push_back({.name = ".dynsym", .type = 11, .link = 1, .content = symbols.bytes()});
  elf.sections.push_back(
      {.name = ".gnu.version", .type = 0x6fffffff, .link = 2, .content = MadeBytes().u16(0).u16(2).u16(1).bytes()});
  MadeBytes needs;
  needs.u16(1).u16(1).u32(1).u32(16).u32(0).u32(0).u16(0).u16(2).u32(24).u32(0);
  elf.sections.push_back(
      {.name = ".gnu.version_r", .type = 0x6ffffffe, .link = 1, .info = 1, .content = needs.bytes()});
  MadeBytes dynamic;
  dynamic.u64(1)
      .u64(1)
      .u64(14)
      .u64(35)
      .u64(29)
      .u64(46)
      .u64(5)
      .u64(elf.offset(1))
      .u64(10)
      .u64(names.size())
      .u64(0)
      .u64(0);
  elf.sections.push_back({.name = ".dynamic", .type = 6, .link = 1, .content = dynamic.bytes()});
  elf.sections.push_back({.name = ".nv_fatbin", .content = MadeBytes().add(fatbin).bytes()});
  return elf;
}

MadeElf make_cubin(std::uint8_t abi, std::uint32_t flags, const std::string& options) {
  MadeElf elf{.type = 2,
              .machine = 190,
              .os_abi = static_cast<std::uint8_t>(abi == 7 ? 0x33 : 0x41),
              .abi_version = abi,
              .version = abi == 7 ? 0x81U : 1U,
              .flags = flags,
              .sections = {},
              .segments = {}};
  elf.sections.push_back({.name = ".strtab", .type = 3, .content = bytes_of({"\0k\0helper\0", 10})});
  MadeBytes symbols;
  symbols.zeros(24).u32(1).u8(0x12).u8(0x10).u16(5).u64(0).u64(128).u32(3).u8(0x12).u8(0).u16(5).u64(64).u64(64);
  elf.sections.push_back({.name = ".symtab", .type = 2, .link = 1, .content = symbols.bytes()});
  MadeBytes info;
  info.u8(4).u8(0x2f).u16(8).u32(1).u32(40).u8(4).u8(0x11).u16(8).u32(1).u32(64).u8(3).u8(0x1b).u16(128);
  elf.sections.push_back({.name = ".nv.info", .type = 0x70000000, .link = 2, .content = info.bytes()});
  MadeBytes own;
  own.u8(4).u8(5).u16(12).u32(64).u32(4).u32(1);
  elf.sections.push_back({.name = ".nv.info.k", .type = 0x70000000, .link = 2, .info = 5, .content = own.bytes()});
  elf.sections.push_back({.name = ".text.k", .content = MadeBytes().zeros(128).bytes()});
  elf.sections.push_back({.name = ".nv.shared.k", .type = 8, .info = 5, .size = 2048});
  if (!options.empty()) {
    MadeBytes text;
    text.zeros(24)
        .add("ptxas")
        .u8(0)
        .add("Cuda compilation tools, release 13.0, V13.0.88")
        .u8(0)
        .add(options)
        .u8(0)
        .align(4);
    MadeBytes note;
    note.u32(12).u32(text.size()).u32(2000).add("NVIDIA Corp").u8(0).add(text.bytes());
    elf.sections.push_back({.name = ".note.nv.tkinfo", .type = 7, .content = note.bytes()});
  }
  return elf;
}

}  // namespace flashfit::doctor::test
