#pragma once
// ELF64, little endian: the tables that say what a library, an object file or a cubin is made of.
#include <memory>
#include <string_view>
#include <vector>

#include "doctor/bytes/source.hpp"

namespace flashfit::doctor {

enum class ElfType : std::uint16_t { kRelocatable = 1, kExecutable = 2, kShared = 3 };
inline constexpr std::uint16_t kMachineX86_64 = 62, kMachineAarch64 = 183, kMachineCuda = 190;

/// Section types that readers look for.
enum : std::uint32_t {
  kSectionNoBits = 8,
  kSectionSymbols = 2,
  kSectionNotes = 7,
  kSectionDynamicSymbols = 11,
  kSectionVersionNeeds = 0x6ffffffe,
  kSectionVersions = 0x6fffffff,
};
/// Segment types.
enum : std::uint32_t {
  kSegmentLoad = 1,
  kSegmentDynamic = 2,
  kSegmentInterpreter = 3,
  kSegmentTls = 7,
  kSegmentStack = 0x6474e551,
};

/// Zero-terminated texts that others point into; copies share them, so views stay valid as long as one copy does.
class StringTable {
 public:
  StringTable() = default;
  explicit StringTable(std::vector<std::byte> bytes)
      : bytes_(std::make_shared<const std::vector<std::byte>>(std::move(bytes))) {}
  std::optional<std::string_view> at(std::uint64_t offset) const {
    return bytes_ ? text_at(*bytes_, offset) : std::nullopt;
  }

 private:
  std::shared_ptr<const std::vector<std::byte>> bytes_;
};

struct ElfSection {
  std::string_view name;  ///< lies in Elf::names
  std::uint32_t type = 0, link = 0, info = 0;
  std::uint64_t flags = 0, address = 0, offset = 0, size = 0;
};

struct ElfSegment {
  std::uint32_t type = 0, flags = 0;  ///< flags: 1 execute, 2 write, 4 read
  std::uint64_t offset = 0, address = 0, size = 0;
  std::uint64_t memory_size = 0, alignment = 0;  ///< once loaded: what the file has no bytes for is zero
};

struct Elf {
  ElfType type = ElfType::kRelocatable;
  std::uint16_t machine = 0;
  std::uint8_t os_abi = 0, abi_version = 0;
  std::uint32_t version = 0, flags = 0;  ///< e_version and e_flags: cubins keep their toolkit and target there
  std::vector<ElfSection> sections;      ///< empty if the file has no section table
  std::vector<ElfSegment> segments;
  StringTable names;

  /// The first section of this type; null if there is none.
  const ElfSection* find(std::uint32_t section_type) const;
  const ElfSection* find(std::string_view name) const;
};

/// Whether the first bytes are those of an ELF file of any class.
bool is_elf(Bytes head);

/// Whether glibc's loader takes a file of this EI_OSABI: System V's or GNU's (elf/dl-load.c, open_verify).
inline bool is_abi_of_linux(std::uint8_t os_abi) { return os_abi == 0 || os_abi == 3; }

/// Errors: malformed (32-bit or big-endian files among them), or more than 262,144 sections.
Result<Elf> read_elf(const Source& source);

/// The content of a section, at most `limit` bytes; a section without bits has none.
Result<std::vector<std::byte>> read_section(const Source& source, const ElfSection& section, std::uint64_t limit);

/// Whether loading the file asks for an executable stack: flags of PT_GNU_STACK. Without that segment the loader's
/// default stands, which is an executable stack on x86-64: so said for libraries and programs, never for .o files.
bool wants_executable_stack(const Elf& elf);

}  // namespace flashfit::doctor
