#include "doctor/binaries/mach_o.hpp"

namespace flashfit::doctor {
namespace {

// mach-o/loader.h, mach-o/fat.h and mach/machine.h of Apple's xnu.
constexpr std::uint32_t kMagic32 = 0xfeedface, kMagic64 = 0xfeedfacf, kMagicFat = 0xcafebabe;
constexpr std::uint32_t kX86_64 = 0x01000007, kArm64 = 0x0100000c;
// Java's classes begin as fat files do, with their version where these have a count: it is 45 or more.
constexpr std::uint32_t kMostMachines = 44;
constexpr std::uint64_t kFatHeader = 8, kFatEntry = 20;

std::uint32_t swapped(std::uint32_t n) { return n >> 24 | (n >> 8 & 0xff00) | (n << 8 & 0xff0000) | n << 24; }

std::string_view name_of(bool intel, bool arm) {
  if (intel && arm) return "universal2";
  return intel ? "x86_64" : arm ? "arm64" : "another machine";
}

bool is_thin(std::uint32_t magic) {
  for (const std::uint32_t known : {kMagic32, kMagic64})
    if (magic == known || magic == swapped(known)) return true;
  return false;
}

}  // namespace

bool is_mach_o(Bytes start) {
  const std::uint32_t magic = Reader(start).u32();
  return is_thin(magic) || magic == swapped(kMagicFat);
}

std::optional<std::string_view> mach_o_machine(Bytes start) {
  Reader reader(start);
  const std::uint32_t magic = reader.u32(), second = reader.u32();
  if (!reader.ok()) return std::nullopt;
  if (is_thin(magic)) {
    const bool other_order = magic != kMagic32 && magic != kMagic64;
    const std::uint32_t machine = other_order ? swapped(second) : second;
    return name_of(machine == kX86_64, machine == kArm64);
  }
  const std::uint32_t count = swapped(second);  // a fat file's header has the other order always
  if (magic != swapped(kMagicFat) || count == 0 || count > kMostMachines) return std::nullopt;
  bool intel = false, arm = false;
  for (std::uint32_t i = 0; i < count; ++i) {
    Reader entry(start, kFatHeader + i * kFatEntry);
    const std::uint32_t machine = swapped(entry.u32());
    intel |= entry.ok() && machine == kX86_64;
    arm |= entry.ok() && machine == kArm64;
  }
  return name_of(intel, arm);
}

}  // namespace flashfit::doctor
