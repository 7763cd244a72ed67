// What a library's first pass keeps, so that a deflated member need not be inflated once more for its tables.
#include "doctor/facts/program_bytes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "doctor/binaries/elf_dynamic.hpp"
#include "doctor/binaries/elf_dynamic_entries.hpp"
#include "doctor/made/elf.hpp"

namespace flashfit::doctor {
namespace {

/// Bytes that come only in order, as a deflated member's.
class InOrder final : public Content {
 public:
  explicit InOrder(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  const Source* source() const override { return nullptr; }
  Result<void> read_through(const Visit& visit) const override {
    constexpr std::size_t kChunk = 1 << 16;
    for (std::size_t at = 0; at < bytes_.size(); at += kChunk)
      if (auto next = visit(at, Bytes(bytes_).subspan(at, std::min(kChunk, bytes_.size() - at))); !next)
        return tl::unexpected(next.error());
    return {};
  }
  Result<std::vector<std::byte>> head(std::size_t size) const override {
    return std::vector(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(std::min(size, bytes_.size())));
  }

 private:
  std::vector<std::byte> bytes_;
};

constexpr std::size_t kSectionTableAt = 40;  // in an ELF header, 8 bytes

/// A library of 24 MB whose section table lies where neither its head nor its tail is.
std::vector<std::byte> with_table_in_the_middle() {
  std::vector<std::byte> bytes = test::make_library().bytes();
  std::uint64_t at = 0;
  std::memcpy(&at, bytes.data() + kSectionTableAt, sizeof at);
  const std::vector<std::byte> table(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end());
  constexpr std::uint64_t kMiddle = std::uint64_t{13} << 20;
  bytes.resize(std::size_t{24} << 20);
  std::copy(table.begin(), table.end(), bytes.begin() + kMiddle);
  std::memcpy(bytes.data() + kSectionTableAt, &kMiddle, sizeof kMiddle);
  return bytes;
}

TEST(ProgramBytes, KeepsTheSectionTableWhereverItLies) {
  const InOrder content(with_table_in_the_middle());
  ProgramBytes bytes(content);
  ASSERT_TRUE(bytes.first_pass());
  const auto elf = read_elf(bytes.source());
  ASSERT_TRUE(elf) << elf.error().message;
  EXPECT_FALSE(elf->sections.empty());
  EXPECT_FALSE(bytes.missed());
}

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

/// A library of 40 MB without a section table, whose dynamic segment lies at 14 MB and has these entries.
std::vector<std::byte> with_dynamic_segment(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& entries) {
  test::MadeBytes header;
  header.add("\x7f\x45LF").u8(2).u8(1).u8(1).zeros(9);
  header.u16(3).u16(kMachineX86_64).u32(1).u64(0).u64(64).u64(0).u32(0).u16(64).u16(56).u16(2).u16(64).u16(0).u16(0);
  const std::uint64_t size = 40 * kMegabyte, at = 14 * kMegabyte;
  header.u32(kSegmentLoad).u32(4).u64(0).u64(0).u64(0).u64(size).u64(size).u64(4096);
  const std::uint64_t dynamic_size = 16 * entries.size();
  header.u32(kSegmentDynamic).u32(4).u64(at).u64(at).u64(at).u64(dynamic_size).u64(dynamic_size).u64(8);
  test::MadeBytes dynamic;
  for (const auto& [tag, value] : entries) dynamic.u64(tag).u64(value);
  std::vector<std::byte> bytes = header.bytes();
  bytes.resize(size);
  const std::vector<std::byte> table = dynamic.bytes();
  std::copy(table.begin(), table.end(), bytes.begin() + at);
  return bytes;
}

TEST(ProgramBytes, KeepsTheTablesThatTheDynamicSegmentNames) {
  // Neither in the head nor in the tail.
  const std::uint64_t texts = 20 * kMegabyte;
  auto bytes =
      with_dynamic_segment({{kDynamicNeeded, 1}, {kDynamicTexts, texts}, {kDynamicTextSize, 3 * kMegabyte}, {0, 0}});
  std::memcpy(bytes.data() + texts + 1, "libx.so", 7);
  const InOrder content(std::move(bytes));
  ProgramBytes read(content);
  ASSERT_TRUE(read.first_pass());
  const auto elf = read_elf(read.source());
  ASSERT_TRUE(elf) << elf.error().message;
  const auto dynamic = read_elf_dynamic(read.source(), *elf);
  ASSERT_TRUE(dynamic) << dynamic.error().message;
  EXPECT_EQ(dynamic->needed, std::vector<std::string>{"libx.so"});
  EXPECT_FALSE(read.missed());
}

TEST(ProgramBytes, KeepsTheEndWhereTheDynamicSegmentNamesNoTexts) {
  const InOrder content(with_dynamic_segment({{kDynamicTextSize, kMegabyte}, {0, 0}}));
  ProgramBytes read(content);
  ASSERT_TRUE(read.first_pass());
  std::array<std::byte, 8> last{};
  EXPECT_TRUE(read.source().read(content.size() - last.size(), last));
  // What a lie of a segment names is nowhere, and nothing is kept for it.
  const InOrder lies(with_dynamic_segment({{kDynamicTexts, ~std::uint64_t{0} - 9}, {kDynamicTextSize, ~0ULL}, {0, 0}}));
  ProgramBytes other(lies);
  ASSERT_TRUE(other.first_pass());
  EXPECT_TRUE(other.source().read(content.size() - last.size(), last));
}

TEST(ProgramBytes, TakesNoMoreThanATableForASectionTable) {
  std::vector<std::byte> lies = with_table_in_the_middle();
  constexpr std::uint64_t kFar = ~std::uint64_t{0} - 5;
  std::memcpy(lies.data() + kSectionTableAt, &kFar, sizeof kFar);
  const InOrder content(std::move(lies));
  ProgramBytes bytes(content);
  ASSERT_TRUE(bytes.first_pass());
  EXPECT_FALSE(read_elf(bytes.source()));
}

}  // namespace
}  // namespace flashfit::doctor
