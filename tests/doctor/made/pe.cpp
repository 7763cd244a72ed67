#include "doctor/made/pe.hpp"

namespace flashfit::doctor::test {
namespace {

constexpr std::uint32_t kAddress = 0x1000;

/// A file of two sections, .rdata with `data` at kAddress and .nv_fatb behind it.
std::vector<std::byte> dll(std::uint16_t machine, const MadeBytes& data, std::uint32_t delayed, Bytes gpu_code) {
  constexpr std::uint32_t kOffset = 0x400;
  const auto size = static_cast<std::uint32_t>(data.size());
  MadeBytes out;
  out.add("MZ").pad_to(60).u32(64);
  out.u32(0x4550).u16(machine).u16(2).zeros(12).u16(112 + 16 * 8).u16(0x2022);
  out.u16(0x20b).pad_to(88 + 108).u32(16);
  for (int i = 0; i < 16; ++i) out.u32(i == 1 ? kAddress : i == 13 ? delayed : 0).u32(0);
  out.add(".rdata").zeros(2).u32(size).u32(kAddress).u32(size).u32(kOffset).zeros(16);
  out.add(".nv_fatb").u32(gpu_code.size()).u32(kAddress + 0x100000).u32(gpu_code.size()).u32(kOffset + size).zeros(16);
  out.pad_to(kOffset).add(data.bytes()).add(gpu_code);
  return out.bytes();
}

}  // namespace

std::vector<std::byte> MadeDll::bytes() const {
  // Descriptors first, then each library's table of names, then the names.
  const std::size_t tables = 20 * (imports.size() + 1);
  std::size_t names = tables;
  for (const Import& import : imports) names += 8 * (import.functions.size() + 1);
  MadeBytes text;
  const auto address_of = [&](const std::string& name) {
    const std::size_t at = kAddress + names + text.size();
    text.add(name).u8(0).align(2);
    return at;
  };
  MadeBytes descriptors, lookups;
  for (const Import& import : imports) {
    const std::size_t lookup = kAddress + tables + lookups.size();
    descriptors.u32(lookup).u32(0).u32(0).u32(address_of(import.library)).u32(lookup);
    for (const std::string& function : import.functions) lookups.u64(address_of(std::string(2, '\0') + function));
    lookups.u64(0);
  }
  descriptors.zeros(20);
  MadeBytes data;
  data.add(descriptors.bytes()).add(lookups.bytes()).add(text.bytes()).align(0x200);
  return dll(machine, data, 0, gpu_code);
}

std::vector<std::byte> make_dll(Bytes fatbin) {
  MadeBytes data;  // .rdata, by its offsets: descriptors, lookup tables, names
  data.u32(kAddress + 0x80).u32(0).u32(0).u32(kAddress + 0xc0).u32(kAddress + 0x80).zeros(20);
  data.u32(1).u32(kAddress + 0xc8).u32(0).u32(kAddress + 0xa0).u32(kAddress + 0xa0).zeros(12).zeros(24);
  data.pad_to(0x80).u64(kAddress + 0xd0).u64((std::uint64_t{1} << 63) | 7).u64(0);
  data.pad_to(0xa0).u64(kAddress + 0xd8).u64(0);
  data.pad_to(0xc0).add("a.dll").pad_to(0xc8).add("b.dll").pad_to(0xd0).u16(0).add("one").pad_to(0xd8).u16(0).add(
      "two");
  data.pad_to(0x200);
  return dll(0x8664, data, kAddress + 0x28, fatbin);
}

}  // namespace flashfit::doctor::test
