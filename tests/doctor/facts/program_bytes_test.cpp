// What a library's first pass keeps, so that a deflated member need not be inflated once more for its tables.
#include "doctor/facts/program_bytes.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "doctor/binaries/elf.hpp"
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
