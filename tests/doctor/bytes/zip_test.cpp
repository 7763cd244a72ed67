#include "doctor/made/zip.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "doctor/bytes/zip_member.hpp"

namespace flashfit::doctor {
namespace {

using test::MadeMember;
using test::MadeZip;
using test::make_zip;

/// Of half a million bytes, so that it comes in more than one chunk.
std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 500'000; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

const std::vector<MadeMember> kMembers = {{.name = "a/b.py", .content = "print()\n"},
                                          {.name = "empty", .content = "", .deflated = false},
                                          {.name = "a/long.so", .content = long_text()},
                                          {.name = "stored", .content = long_text(), .deflated = false}};

/// The content of all members, or the first error.
Result<std::vector<std::string>> read_all(Bytes bytes, const ZipLimits& limits = {}) {
  const MemorySource source(bytes);
  const auto members = read_zip_directory(source, limits);
  if (!members) return tl::unexpected(members.error());
  std::vector<std::string> contents;
  for (const ZipMember& member : *members) {
    const auto content = read_member(source, member, 1 << 20);
    if (!content) return tl::unexpected(content.error());
    contents.emplace_back(as_text(*content));
  }
  return contents;
}

std::string error_of(Bytes bytes, const ZipLimits& limits = {}) {
  const auto read = read_all(bytes, limits);
  return read ? "no error" : read.error().message;
}

TEST(Zip, GivesWhatWasPutIn) {
  for (const bool wide : {false, true})
    for (const bool sizes_follow : {false, true}) {
      auto members = kMembers;
      for (MadeMember& member : members) member.sizes_follow = sizes_follow;
      const auto read = read_all(make_zip(members, wide).bytes);
      ASSERT_TRUE(read.has_value()) << read.error().message;
      ASSERT_EQ(read->size(), members.size());
      for (std::size_t i = 0; i < members.size(); ++i) EXPECT_EQ((*read)[i], members[i].content);
    }
}

TEST(Zip, ChunksAreBounded) {
  const MadeZip zip = make_zip(kMembers);
  const MemorySource source(zip.bytes);
  const auto members = read_zip_directory(source);
  auto reader = ZipMemberReader::open(source, members->at(2));
  std::size_t chunks = 0;
  for (;; ++chunks) {
    const auto chunk = reader->next();
    ASSERT_TRUE(chunk.has_value());
    if (chunk->empty()) break;
    EXPECT_LE(chunk->size(), 256U << 10);
  }
  EXPECT_GT(chunks, 1U);
}

TEST(Zip, EmptyArchiveHasNoMembers) { EXPECT_TRUE(read_all(make_zip({}).bytes)->empty()); }

TEST(Zip, SignatureInACommentIsNoEnd) {
  auto bytes = make_zip(kMembers).bytes;
  const std::string comment = "PK\5\6 and twenty more bytes of text";
  bytes[bytes.size() - 2] = static_cast<std::byte>(comment.size());
  for (const char c : comment) bytes.push_back(static_cast<std::byte>(c));
  EXPECT_EQ(read_all(bytes)->size(), kMembers.size());
}

struct Lie {
  const char* what;
  std::function<void(MadeZip&)> tell;
  const char* expected;
};

/// Two members: "one" and "two", deflated.
class ZipLies : public testing::TestWithParam<Lie> {};

template <class T>
void put(MadeZip& zip, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) zip.bytes.at(at + i) = static_cast<std::byte>(value >> (8 * i));
}

const Lie kLies[] = {
    {"encrypted", [](MadeZip& z) { put<std::uint16_t>(z, z.central[0] + 8, 1); },
     "malformed: encrypted zip member at "},
    {"method", [](MadeZip& z) { put<std::uint16_t>(z, z.central[0] + 10, 12); },
     "malformed: zip member of method 12 at "},
    {"bomb", [](MadeZip& z) { put<std::uint32_t>(z, z.central[0] + 24, 100'000); },
     "malformed: size of a zip member that its compressed bytes cannot hold at "},
    {"longer", [](MadeZip& z) { put<std::uint32_t>(z, z.central[0] + 24, 3), put<std::uint32_t>(z, 22, 3); },
     "malformed: zip member longer than the directory says at "},
    {"shorter", [](MadeZip& z) { put<std::uint32_t>(z, z.central[0] + 24, 9), put<std::uint32_t>(z, 22, 9); },
     "malformed: zip member shorter than the directory says at "},
    {"crc", [](MadeZip& z) { put<std::uint32_t>(z, z.central[0] + 16, 1), put<std::uint32_t>(z, 14, 1); },
     "malformed: zip member whose CRC is another at "},
    {"local size", [](MadeZip& z) { put<std::uint32_t>(z, 22, 9); },
     "malformed: zip member's header that differs from the directory's at 0"},
    {"local name", [](MadeZip& z) { put<std::uint8_t>(z, 30, 'O'); },
     "malformed: zip member's name that differs from the directory's at 30"},
    {"local extra", [](MadeZip& z) { put<std::uint16_t>(z, 28, 9); },
     "malformed: zip member that overlaps what follows at 0"},
    {"same bytes", [](MadeZip& z) { put<std::uint32_t>(z, z.central[1] + 42, 0); },
     "malformed: zip member that overlaps what follows at 0"},
    {"header in the directory", [](MadeZip& z) { put<std::uint32_t>(z, z.central[1] + 42, z.directory); },
     "malformed: zip member that overlaps what follows at "},
    {"names twice",
     [](MadeZip& z) {
       for (const std::size_t at : {z.local[1] + 30, z.central[1] + 46})
         for (std::size_t i = 0; i < 3; ++i) z.bytes[at + i] = static_cast<std::byte>("one"[i]);
     },
     "malformed: zip member's name twice at "},
    {"control character", [](MadeZip& z) { put<std::uint8_t>(z, z.central[0] + 46, 27); },
     "malformed: zip member's name at "},
    {"upwards",
     [](MadeZip& z) {
       put<std::uint16_t>(z, z.central[0] + 46, '.' + ('.' << 8)), put<std::uint8_t>(z, z.central[0] + 48, '/');
     },
     "malformed: zip member's name at "},
    {"absolute", [](MadeZip& z) { put<std::uint8_t>(z, z.central[0] + 46, '/'); }, "malformed: zip member's name at "},
    {"count", [](MadeZip& z) { put<std::uint32_t>(z, z.end + 8, 0xfff0fff0); }, "malformed: number of zip members at "},
    {"too few", [](MadeZip& z) { put<std::uint32_t>(z, z.end + 8, 0x00010001); },
     "malformed: bytes after the zip directory at "},
    {"disks", [](MadeZip& z) { put<std::uint16_t>(z, z.end + 4, 1); }, "malformed: zip of several disks at "},
    {"directory size", [](MadeZip& z) { put<std::uint32_t>(z, z.end + 12, 5); },
     "malformed: zip directory that does not end at its end record at "},
    {"prefix", [](MadeZip& z) { z.bytes.insert(z.bytes.begin(), std::byte{1}); },
     "malformed: zip directory that does not end at its end record at "},
    {"cut", [](MadeZip& z) { z.bytes.pop_back(); }, "malformed: zip without an end record at "},
    {"stream", [](MadeZip& z) { put<std::uint8_t>(z, z.local[0] + 33, 0xff); }, "malformed: no deflate stream at "},
};

TEST_P(ZipLies, AreNamed) {
  MadeZip zip = make_zip({{.name = "one", .content = "first"}, {.name = "two", .content = "second"}});
  GetParam().tell(zip);
  EXPECT_EQ(error_of(zip.bytes).rfind(GetParam().expected, 0), 0U) << GetParam().what << ": " << error_of(zip.bytes);
}
INSTANTIATE_TEST_SUITE_P(All, ZipLies, testing::ValuesIn(kLies));

TEST(Zip, TwoEndRecordsMustAgree) {
  MadeZip zip = make_zip(kMembers, true);
  put<std::uint32_t>(zip, zip.end + 8, 0x00030003);
  EXPECT_NE(error_of(zip.bytes).find("zip64 end record that disagrees with the end record"), std::string::npos);
}

TEST(Zip, LimitsAreNamed) {
  const auto bytes = make_zip(kMembers).bytes;
  EXPECT_NE(error_of(bytes, {.members = 3}).find("number of zip members beyond the limit of 3"), std::string::npos);
  EXPECT_NE(error_of(bytes, {.member_bytes = 1000}).find("size of a zip member beyond"), std::string::npos);
  EXPECT_NE(error_of(bytes, {.content_bytes = 600'000}).find("content of the zip beyond"), std::string::npos);
  EXPECT_NE(error_of(bytes, {.directory_bytes = 10}).find("zip directory beyond the limit of 10"), std::string::npos);
}

}  // namespace
}  // namespace flashfit::doctor
