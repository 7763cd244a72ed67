#include "doctor/made/code.hpp"

#include <zstd.h>

#include "doctor/binaries/elf.hpp"
#include "doctor/made/elf.hpp"

namespace flashfit::doctor::test {
namespace {

struct Named {
  std::uint32_t architecture = 0;  ///< 90
  char scope = ' ';                ///< 'a', 'f'
  bool ptx = false;
};

/// "9.0a+PTX"
Named named(const std::string& target) {
  Named out;
  const std::size_t dot = target.find('.');
  out.architecture = static_cast<std::uint32_t>(10 * std::stoi(target) + std::stoi(target.substr(dot + 1)));
  const std::size_t plus = target.find('+');
  out.ptx = plus != std::string::npos;
  const char last = target[(out.ptx ? plus : target.size()) - 1];
  if (last == 'a' || last == 'f') out.scope = last;
  return out;
}

std::string sm(const Named& target) {
  std::string text = "sm_" + std::to_string(target.architecture);
  if (target.scope != ' ') text += target.scope;
  return text;
}

std::uint32_t flags_of(const Named& target, bool abi8) {
  const std::uint32_t architecture = target.architecture;
  if (abi8) return 0x6000002U | (architecture << 8);
  return architecture | (architecture << 16) | 0x500U | (target.scope == 'a' ? 0x800U : 0U);
}

MadeSection tool_note(const std::string& options) {
  MadeBytes text;
  text.zeros(24).add("ptxas").u8(0).add("Cuda compilation tools, release 13.0, V13.0.88").u8(0);
  text.add(options).u8(0).align(4);
  MadeBytes note;
  note.u32(12).u32(text.size()).u32(2000).add("NVIDIA Corp").u8(0).add(text.bytes());
  return {.name = ".note.nv.tkinfo", .type = 7, .content = note.bytes()};
}

/// PTX's ISA of a toolkit: 12.8 writes 8.7. From 13.0 on the versions are ten apart by four.
int isa_of(int toolkit) {
  if (toolkit >= 130) return toolkit - 40;
  return toolkit >= 126 ? toolkit - 41 : toolkit >= 120 ? toolkit - 40 : 78;
}

}  // namespace

std::vector<std::byte> make_image(const std::string& target, const std::vector<MadeKernel>& kernels, int toolkit) {
  const Named name = named(target);
  const bool abi8 = name.architecture >= 100 || toolkit >= 130;
  MadeElf elf{.type = 2,
              .os_abi = static_cast<std::uint8_t>(abi8 ? 0x41 : 0x33),
              .abi_version = static_cast<std::uint8_t>(abi8 ? 8 : 7),
              .version = abi8 ? 1U : static_cast<std::uint32_t>(toolkit),
              .flags = flags_of(name, abi8),
              .sections = {},
              .segments = {}};
  elf.machine = kMachineCuda;
  constexpr std::uint32_t kFirstKernel = 4;  // sections of names, symbols and .nv.info come before
  constexpr std::uint32_t kInfoType = 0x70000000;
  MadeBytes names, symbols, info;
  names.u8(0);
  symbols.zeros(24);
  for (std::uint32_t i = 0; i < kernels.size(); ++i) {
    const MadeKernel& kernel = kernels[i];
    symbols.u32(names.size()).u8(0x12).u8(0x10).u16(kFirstKernel + 3 * i).u64(0).u64(128);
    names.add(kernel.name).u8(0);
    info.u8(4).u8(0x2f).u16(8).u32(i + 1).u32(kernel.registers);
    info.u8(4).u8(0x11).u16(8).u32(i + 1).u32(kernel.stack);
  }
  elf.sections.push_back({.name = ".strtab", .type = 3, .content = names.bytes()});
  elf.sections.push_back({.name = ".symtab", .type = 2, .link = 1, .content = symbols.bytes()});
  elf.sections.push_back({.name = ".nv.info", .type = kInfoType, .link = 2, .content = info.bytes()});
  for (std::uint32_t i = 0; i < kernels.size(); ++i) {
    const MadeKernel& kernel = kernels[i];
    const std::uint32_t text = kFirstKernel + 3 * i;
    MadeBytes own;
    if (kernel.max_threads != 0) own.u8(4).u8(5).u16(12).u32(kernel.max_threads).u32(1).u32(1);
    elf.sections.push_back({.name = ".text." + kernel.name, .content = MadeBytes().zeros(128).bytes()});
    elf.sections.push_back(
        {.name = ".nv.info." + kernel.name, .type = kInfoType, .link = 2, .info = text, .content = own.bytes()});
    elf.sections.push_back({.name = ".nv.shared." + kernel.name, .type = 8, .info = text, .size = kernel.shared});
  }
  if (abi8) elf.sections.push_back(tool_note("-arch " + sm(name)));
  return elf.bytes();
}

std::string make_ptx(const std::string& target, const std::vector<MadeKernel>& kernels, int isa) {
  std::string text =
      fmt::format(".version {}.{}\n.target {}\n.address_size 64\n", isa / 10, isa % 10, sm(named(target)));
  for (const MadeKernel& kernel : kernels) text += ".visible .entry " + kernel.name + "()\n{\nret;\n}\n";
  return text;
}

std::vector<std::byte> make_container(const MadeCode& code) {
  std::vector<MadeEntry> entries;
  for (const std::string& target : code.targets) {
    const Named name = named(target);
    const int isa = isa_of(code.toolkit);
    MadeEntry entry{.architecture = name.architecture};
    if (name.scope == 'a') entry.flags |= kFatbinArchitectureTarget;
    if (name.scope == 'f') entry.flags |= kFatbinFamilyTarget;
    if (name.ptx) {
      entry.kind = FatbinKind::kPtx;
      entry.major = static_cast<std::uint16_t>(isa / 10);
      entry.minor = static_cast<std::uint16_t>(isa % 10);
      entry.payload = MadeBytes().add(make_ptx(target, code.kernels, isa)).bytes();
    } else {
      entry.minor = name.architecture >= 100 || code.toolkit >= 130 ? 8 : 7;
      entry.payload = make_image(target, code.kernels, code.toolkit);
    }
    if (code.zstd) {
      std::vector<std::byte> packed(ZSTD_compressBound(entry.payload.size()));
      packed.resize(ZSTD_compress(packed.data(), packed.size(), entry.payload.data(), entry.payload.size(), 3));
      entry.plain = entry.payload.size();
      entry.payload = std::move(packed);
      entry.flags |= kFatbinZstd;
    }
    entries.push_back(std::move(entry));
  }
  return make_fatbin(entries);
}

std::vector<std::byte> make_containers(const std::vector<MadeCode>& containers) {
  MadeBytes out;
  for (const MadeCode& code : containers) out.add(make_container(code)).align(8);
  return out.bytes();
}

}  // namespace flashfit::doctor::test
