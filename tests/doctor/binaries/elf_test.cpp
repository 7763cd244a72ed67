#include "doctor/made/elf.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "doctor/binaries/elf_dynamic.hpp"
#include "doctor/binaries/elf_notes.hpp"
#include "doctor/binaries/elf_symbols.hpp"
#include "doctor/bytes/static_library.hpp"
#include "doctor/made/archive.hpp"

namespace flashfit::doctor {
namespace {

using test::MadeElf;
using test::make_library;

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes.at(at + i) = static_cast<std::byte>(value >> (8 * i));
}

TEST(Elf, LibrarySaysWhatItNeeds) {
  const auto bytes = make_library().bytes();
  const MemorySource source(bytes);
  const auto elf = read_elf(source);
  ASSERT_TRUE(elf.has_value()) << elf.error().message;
  EXPECT_EQ(elf->type, ElfType::kShared);
  EXPECT_EQ(elf->machine, kMachineX86_64);
  EXPECT_FALSE(wants_executable_stack(*elf));
  ASSERT_NE(elf->find(".nv_fatbin"), nullptr);

  const auto dynamic = read_elf_dynamic(source, *elf);
  ASSERT_TRUE(dynamic.has_value()) << dynamic.error().message;
  EXPECT_EQ(dynamic->needed, std::vector<std::string>{"libc.so.6"});
  EXPECT_EQ(dynamic->soname, "libmade.so");
  EXPECT_EQ(dynamic->runpath, "$ORIGIN");

  const auto symbols = read_elf_symbols(source, *elf, kSectionDynamicSymbols);
  const auto needs = read_elf_version_needs(source, *elf);
  ASSERT_TRUE(symbols && needs);
  ASSERT_EQ(symbols->list.size(), 3U);
  ASSERT_EQ(needs->list.size(), 1U);
  EXPECT_EQ(needs->list[0].library, "libc.so.6");
  EXPECT_EQ(needs->list[0].version, "GLIBC_2.34");
  EXPECT_EQ(symbols->list[1].name, "old_need");
  EXPECT_FALSE(symbols->list[1].defined());
  EXPECT_EQ(symbols->list[1].version, needs->list[0].index);
  EXPECT_EQ(symbols->list[2].name, "own");
  EXPECT_TRUE(symbols->list[2].defined());
}

TEST(Elf, ReadsThisVeryProgram) {
  const auto file = FileSource::open("/proc/self/exe");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  const auto elf = read_elf(*file);
  ASSERT_TRUE(elf.has_value()) << elf.error().message;
  const auto dynamic = read_elf_dynamic(*file, *elf);
  ASSERT_TRUE(dynamic.has_value());
  EXPECT_NE(std::find(dynamic->needed.begin(), dynamic->needed.end(), "libc.so.6"), dynamic->needed.end());
  const auto needs = read_elf_version_needs(*file, *elf);
  ASSERT_TRUE(needs.has_value());
  EXPECT_TRUE(std::any_of(needs->list.begin(), needs->list.end(),
                          [](auto& n) { return n.library == "libc.so.6" && n.version.starts_with("GLIBC_2."); }));
}

TEST(Elf, ExecutableStackIsSeen) {
  const auto asks = [](const MadeElf& made) {
    const auto bytes = made.bytes();
    return wants_executable_stack(*read_elf(MemorySource(bytes)));
  };
  EXPECT_TRUE(asks(make_library({}, true)));
  MadeElf silent = make_library();
  silent.segments.pop_back();
  EXPECT_TRUE(asks(silent));
  silent.machine = kMachineAarch64;
  EXPECT_FALSE(asks(silent));
}

TEST(Elf, DynamicNeedsNoSections) {
  auto bytes = make_library().bytes();
  put<std::uint64_t>(bytes, 40, 0);
  put<std::uint16_t>(bytes, 60, 0);
  put<std::uint16_t>(bytes, 62, 0);
  const MemorySource source(bytes);
  const auto elf = read_elf(source);
  ASSERT_TRUE(elf.has_value()) << elf.error().message;
  EXPECT_EQ(read_elf_dynamic(source, *elf)->needed.size(), 1U);
}

/// What the readers say of a library with `value` at `at`.
template <class T>
std::string error_with(std::size_t at, std::uint64_t value) {
  auto bytes = make_library().bytes();
  put<T>(bytes, at, value);
  const MemorySource source(bytes);
  const auto elf = read_elf(source);
  if (!elf) return elf.error().message;
  if (auto dynamic = read_elf_dynamic(source, *elf); !dynamic) return dynamic.error().message;
  if (auto symbols = read_elf_symbols(source, *elf, kSectionDynamicSymbols); !symbols) return symbols.error().message;
  if (auto needs = read_elf_version_needs(source, *elf); !needs) return needs.error().message;
  return "no error";
}

TEST(Elf, LiesAreNamed) {
  const MadeElf made = make_library();
  EXPECT_EQ(error_with<std::uint8_t>(0, 0), "malformed: ELF header at 0");
  EXPECT_EQ(error_with<std::uint8_t>(4, 1), "malformed: ELF of another class than 64-bit at 4");
  EXPECT_EQ(error_with<std::uint8_t>(5, 2), "malformed: big-endian ELF at 5");
  EXPECT_EQ(error_with<std::uint64_t>(40, 1ULL << 60),
            "malformed: section table outside the file at 1152921504606846976");
  EXPECT_EQ(error_with<std::uint16_t>(60, 0xfeff),
            "malformed: section table outside the file at " + std::to_string(made.bytes().size() - 8 * 64));
  EXPECT_EQ(error_with<std::uint16_t>(62, 200), "malformed: index of the section names at 62");
  EXPECT_EQ(error_with<std::uint64_t>(64 + 56 + 32, ~0ULL).rfind("malformed: dynamic segment outside the file", 0), 0U);
  EXPECT_EQ(error_with<std::uint64_t>(made.offset(5) + 8, 5000).rfind("malformed: text of a dynamic entry", 0), 0U);
  EXPECT_EQ(
      error_with<std::uint64_t>(made.offset(5) + 56, 1ULL << 40).rfind("malformed: address of the dynamic texts", 0),
      0U);
  EXPECT_EQ(error_with<std::uint32_t>(made.offset(2) + 24, 5000).rfind("malformed: name of a symbol", 0), 0U);
  EXPECT_EQ(error_with<std::uint16_t>(made.offset(4) + 2, 9), "no error") << "the chain's own end counts";
  EXPECT_EQ(error_with<std::uint32_t>(made.offset(4) + 12, 8).rfind("malformed: needed version", 0), 0U);
}

TEST(Elf, NotesAreRead) {
  test::MadeBytes section;
  section.u32(4).u32(3).u32(7).add("GNU").u8(0).add("abc").u8(0).u32(0).u32(0).u32(1);
  const auto notes = read_elf_notes(section.bytes(), 0);
  ASSERT_TRUE(notes.has_value());
  ASSERT_EQ(notes->size(), 2U);
  EXPECT_EQ(notes->at(0).owner, "GNU");
  EXPECT_EQ(as_text(notes->at(0).content), "abc");
  EXPECT_EQ(notes->at(1).type, 1U);
  EXPECT_EQ(read_elf_notes(Bytes(section.bytes()).first(18), 100).error().message, "malformed: note at 100");
}

TEST(Archive, NamesOfEveryKind) {
  const auto bytes = test::make_archive();
  const MemorySource source(bytes);
  const auto members = read_archive(source);
  ASSERT_TRUE(members.has_value()) << members.error().message;
  ASSERT_EQ(members->size(), 3U);
  EXPECT_EQ(members->at(0).name, "short.o");
  EXPECT_EQ(members->at(1).name, "a_name_longer_than_sixteen.o");
  EXPECT_EQ(members->at(2).name, "bsd.o");
  for (const ArchiveMember& member : *members)
    EXPECT_EQ(as_text(*part(bytes, member.offset, member.size)), "in " + member.name);
}

TEST(Archive, LiesAreNamed) {
  const auto error_of = [](std::vector<std::byte> bytes) { return read_archive(MemorySource(bytes)).error().message; };
  const auto good = test::make_archive();
  auto thin = good;
  put<std::uint64_t>(thin, 0, 0x0a3e6e6968743c21);
  EXPECT_EQ(error_of(thin), "malformed: thin archive, whose members lie elsewhere at 0");
  auto longer = good;
  put<std::uint32_t>(longer, 8 + 48, 0x39393939);
  EXPECT_EQ(error_of(longer), "malformed: archive member's size at 56");
  auto unnamed = good;
  put<std::uint16_t>(unnamed, test::place(good, "/0 ") + 1, 0x3939);
  EXPECT_EQ(error_of(unnamed).rfind("malformed: archive member's name at ", 0), 0U);
  auto cut = good;
  cut.resize(40);
  EXPECT_EQ(error_of(cut), "malformed: archive member's header outside the file at 8");
}

/// Many names that share one far end would be searched for hours.
TEST(Elf, NamesThatEndFarOffAreRefusedSoon) {
  constexpr std::size_t kSymbols = 3000;
  const std::string text = '\0' + std::string(std::size_t{1} << 20, 'x') + '\0';
  test::MadeBytes symbols;
  symbols.zeros(24);
  for (std::size_t i = 0; i < kSymbols; ++i) symbols.u32(1).u8(0x12).u8(0).u16(0).u64(0).u64(0);
  MadeElf elf;
  elf.sections.push_back({.name = ".dynstr", .type = 3, .content = test::MadeBytes().add(text).bytes()});
  elf.sections.push_back({.name = ".dynsym", .type = 11, .link = 1, .content = symbols.bytes()});
  const auto bytes = elf.bytes();
  const MemorySource source(bytes);
  const auto read = read_elf_symbols(source, *read_elf(source), kSectionDynamicSymbols);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message.rfind("malformed: length of all symbols' names beyond the limit of 17929632 at ", 0),
            0U);
}

}  // namespace
}  // namespace flashfit::doctor
