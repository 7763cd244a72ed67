#pragma once
// A small 64-bit DLL: imports "one" and ordinal 7 of a.dll, and, delayed, "two" of b.dll; carries `fatbin` in .nv_fatb.
#include "inspect/made_bytes.hpp"

namespace flashfit::inspect::test {

inline std::vector<std::byte> make_dll(Bytes fatbin = {}) {
  constexpr std::uint32_t kAddress = 0x1000, kOffset = 0x400;
  MadeBytes data;  // .rdata, by its offsets: descriptors, lookup tables, names
  data.u32(kAddress + 0x80).u32(0).u32(0).u32(kAddress + 0xc0).u32(kAddress + 0x80).zeros(20);
  data.u32(1).u32(kAddress + 0xc8).u32(0).u32(kAddress + 0xa0).u32(kAddress + 0xa0).zeros(12).zeros(24);
  data.pad_to(0x80).u64(kAddress + 0xd0).u64((std::uint64_t{1} << 63) | 7).u64(0);
  data.pad_to(0xa0).u64(kAddress + 0xd8).u64(0);
  data.pad_to(0xc0).add("a.dll").pad_to(0xc8).add("b.dll").pad_to(0xd0).u16(0).add("one").pad_to(0xd8).u16(0).add(
      "two");
  data.pad_to(0x200);

  MadeBytes out;
  out.add("MZ").pad_to(60).u32(64);
  out.u32(0x4550).u16(0x8664).u16(2).zeros(12).u16(112 + 16 * 8).u16(0x2022);
  out.u16(0x20b).pad_to(88 + 108).u32(16);
  for (int i = 0; i < 16; ++i) out.u32(i == 1 ? kAddress : i == 13 ? kAddress + 0x28 : 0).u32(0);
  out.add(".rdata").zeros(2).u32(0x200).u32(kAddress).u32(0x200).u32(kOffset).zeros(16);
  out.add(".nv_fatb").u32(fatbin.size()).u32(0x2000).u32(fatbin.size()).u32(0x600).zeros(16);
  out.pad_to(kOffset).add(data.bytes()).add(fatbin);
  return out.bytes();
}

}  // namespace flashfit::inspect::test
