#include "doctor/dynamic_loader/ld_so_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/dynamic_loader/made_cache.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

using test::MadeCache;

const std::uint32_t kX86 = LdSoCache::flags_of("x86_64");
const std::vector<std::string> kLevel3 = {"x86-64-v3", "x86-64-v2"};

Result<LdSoCache> read(const std::vector<std::byte>& bytes) { return LdSoCache::read(doctor::MemorySource(bytes)); }

std::string path_of(const LdSoCache& cache, const std::string& name, const std::vector<std::string>& hwcaps = kLevel3) {
  const auto* const entry = cache.find(name, kX86, hwcaps);
  return entry == nullptr ? "" : entry->path;
}

TEST(LdSoCache, NamesLeadToPaths) {
  const MadeCache made{.entries = {{"libb.so.2", "/b"}, {"libb.so.2", "/later"}, {"liba.so.1", "/a"}}};
  const auto cache = read(made.bytes());
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(cache->size(), 3);
  EXPECT_EQ(path_of(*cache, "libb.so.2"), "/b");
  EXPECT_EQ(path_of(*cache, "liba.so.1"), "/a");
  EXPECT_EQ(path_of(*cache, "libc.so.6"), "");
}

TEST(LdSoCache, OtherMachinesAndOldSubfoldersAreLeftOut) {
  const MadeCache made{.entries = {{"liba.so.1", "/32-bit", 0x0803},
                                   {"liba.so.1", "/haswell", 0x0303, -1, 1 << 2},
                                   {"liba.so.1", "/a"}}};
  EXPECT_EQ(path_of(read(made.bytes()).value(), "liba.so.1"), "/a");
}

TEST(LdSoCache, TheBestSubfolderOfTheProcessorWins) {
  const MadeCache made{.entries = {{"liba.so.1", "/v2", 0x0303, 1},
                                   {"liba.so.1", "/v4", 0x0303, 2},
                                   {"liba.so.1", "/v3", 0x0303, 0},
                                   {"liba.so.1", "/a"}},
                       .hwcaps = {"x86-64-v3", "x86-64-v2", "x86-64-v4"}};
  const auto cache = read(made.bytes());
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(path_of(*cache, "liba.so.1"), "/v3");
  EXPECT_EQ(path_of(*cache, "liba.so.1", {"x86-64-v2"}), "/v2");
  EXPECT_EQ(path_of(*cache, "liba.so.1", {}), "/a");
}

TEST(LdSoCache, TheNewFormatIsFoundBehindTheOld) {
  const MadeCache made{.entries = {{"liba.so.1", "/a"}}, .behind_old = true};
  // The offsets of texts count from where the new format begins.
  EXPECT_EQ(path_of(read(made.bytes()).value(), "liba.so.1"), "/a");
}

TEST(LdSoCache, WhatIsNotWholeIsRefused) {
  const std::vector<std::byte> whole = MadeCache{.entries = {{"liba.so.1", "/a"}}}.bytes();
  EXPECT_EQ(read({}).error().message, "malformed: ld.so.cache: neither of its formats at 0");
  for (const std::ptrdiff_t size : {21, 47, 60, 75}) {
    const auto cut = std::vector(whole.begin(), whole.begin() + size);
    EXPECT_FALSE(read(cut)) << size;
  }
  auto many = whole;
  many[20] = many[21] = many[22] = std::byte{0xff};
  EXPECT_EQ(read(many).error().message,
            "malformed: number of the ld.so.cache's entries beyond the limit of 262144 at 0");
  auto big_endian = whole;
  big_endian[28] = std::byte{3};
  EXPECT_EQ(read(big_endian).error().message, "malformed: ld.so.cache's header at 0");
}

}  // namespace
}  // namespace flashfit::doctor::dynamic_loader
