#pragma once
// NVIDIA's fat binaries: containers, each of one compiled source, that hold one image a target. The format is nobody's
// promise: docs/doctor.md says what is read of it.
#include <string>
#include <vector>

#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

enum class FatbinKind : std::uint16_t { kPtx = 1, kElf = 2, kOldCubin = 4, kLto = 8, kMercury = 0x10 };

/// Bits of FatbinEntry::flags.
enum : std::uint64_t {
  kFatbin64Bit = 0x1,
  kFatbinDebug = 0x2,
  kFatbinLinux = 0x10,
  kFatbinWindows = 0x40,
  kFatbinOldCompression = 0x1000,
  kFatbinLz4 = 0x2000,
  kFatbinZstd = 0x8000,
  kFatbinLto = 0x10000,
  kFatbinArchitectureTarget = 0x100000,  ///< "a": that compute capability alone
  kFatbinFamilyTarget = 0x200000,        ///< "f": its family
};

struct FatbinEntry {
  FatbinKind kind = FatbinKind::kPtx;  ///< others than those named exist
  std::uint16_t minor = 0, major = 0;  ///< PTX: its ISA; ELF: the cubin's ABI
  std::uint32_t architecture = 0;      ///< decimal: 90 is 9.0
  std::uint64_t flags = 0;
  std::uint64_t offset = 0, size = 0;  ///< the payload, padding included
  std::uint32_t compressed = 0;        ///< bytes of `size` that are compressed; 0: stored as it is
  std::uint64_t uncompressed = 0;      ///< 0 where stored
  std::string options;                 ///< of ptxas, "-O3 --maxrregcount 64"; "" mostly
};

struct FatbinContainer {
  std::uint64_t offset = 0, size = 0;  ///< with its header
  std::vector<FatbinEntry> entries;
};

inline constexpr std::uint64_t kFatbinHeaderSize = 16;
inline constexpr std::uint64_t kFatbinLeastEntryHeader = 0x40, kFatbinMostEntryHeader = 0x10000;

/// Whether a container begins with these four bytes.
constexpr bool begins_fatbin(std::uint32_t start) { return start == 0xba55ed50; }
/// Whether the bytes open a container.
bool is_fatbin(Bytes head);

/// The header of a container that lies at `offset`: its entries are not read yet. Errors: malformed.
Result<FatbinContainer> read_container_header(Bytes bytes, std::uint64_t offset);

/// The length of the entry header that starts with these eight bytes. Errors: malformed.
Result<std::uint32_t> read_entry_header_size(Bytes bytes, std::uint64_t offset);

/// The entry whose whole header is `header` and lies at `offset`. Errors: malformed.
Result<FatbinEntry> read_entry(Bytes header, std::uint64_t offset);

}  // namespace flashfit::doctor
