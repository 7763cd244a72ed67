#include "runtime/images/build/cache.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace flashfit {
namespace {

namespace fs = std::filesystem;

struct ImageCacheTest : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("flashfit_cache_test_" + std::to_string(getpid()));
  ImageCache cache{folder};
  CachedImage image{.entry = "kernel",
                    .resources = {.registers = 168, .stack_bytes = 1, .spill_store_bytes = 2, .spill_load_bytes = 3},
                    .bytes = {std::byte{10}, std::byte{0}, std::byte{255}}};

  void TearDown() override { fs::remove_all(folder); }
};

TEST_F(ImageCacheTest, GivesBackWhatWasPut) {
  EXPECT_FALSE(cache.get("key"));
  ASSERT_TRUE(cache.put("key", image));
  const auto got = cache.get("key");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->entry, "kernel");
  EXPECT_EQ(got->bytes, image.bytes);
  EXPECT_EQ(got->resources.registers, 168);
  EXPECT_EQ(got->resources.stack_bytes, 1);
  EXPECT_EQ(got->resources.spill_store_bytes, 2);
  EXPECT_EQ(got->resources.spill_load_bytes, 3);
  EXPECT_FALSE(cache.get("another"));
}

TEST_F(ImageCacheTest, DamagedEntriesAreAbsent) {
  ASSERT_TRUE(cache.put("key", image));
  const auto size = fs::file_size(folder / "key");
  fs::resize_file(folder / "key", size - 1);
  EXPECT_FALSE(cache.get("key"));
  std::ofstream(folder / "key") << "not json\n";
  EXPECT_FALSE(cache.get("key"));
  std::ofstream(folder / "key") << "{}\n";
  EXPECT_FALSE(cache.get("key"));
}

TEST_F(ImageCacheTest, AFolderThatCannotBeMadeIsNamed) {
  std::ofstream(folder.string()) << "a file is in its place";
  const Result<void> put = cache.put("key", image);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().message, "--cache " + folder.string() + ": cannot be written");
}

}  // namespace
}  // namespace flashfit
