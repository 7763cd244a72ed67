#include "runtime/images/blob.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/gpu/limits.hpp"
#include "runtime/images/carried.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit {
namespace {

constexpr Target kHopper{90, Target::Kind::kSass, TargetScope::kArchitecture}, kPtx{80, Target::Kind::kPtx};

std::vector<std::byte> bytes(std::size_t n, int seed) {
  std::vector<std::byte> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(seed)) % 251);
  return out;
}

struct Packed {
  std::vector<std::vector<std::byte>> images = {bytes(1000, 1), bytes(0, 2), bytes(70000, 3)};
  std::vector<std::byte> blob = pack_blob({{.kernel = "a", .target = kHopper, .registers = 200, .entry = "f"},
                                           {.kernel = "b", .target = kPtx, .shared_bytes = 4096, .entry = "g"},
                                           {.kernel = "c", .target = kHopper, .local_bytes = 8, .entry = "h"}},
                                          images);
};

TEST(Blob, GivesBackWhatWasPacked) {
  const Packed p;
  const Result<BlobIndex> index = read_blob(p.blob);
  ASSERT_TRUE(index) << index.error().message;
  ASSERT_EQ(index->entries.size(), 3u);
  EXPECT_EQ(index->frames.size(), 2u);  // a frame a target
  EXPECT_EQ(index->entries[0].frame, index->entries[2].frame);
  EXPECT_EQ(index->entries[0].registers, 200);
  EXPECT_EQ(index->entries[0].target, kHopper);
  EXPECT_EQ(index->entries[1].target, kPtx);
  EXPECT_EQ(index->entries[1].shared_bytes, 4096);
  EXPECT_EQ(index->entries[2].local_bytes, 8);
  EXPECT_EQ(index->entries[2].entry, "h");
  for (std::size_t i = 0; i < 3; ++i) {
    const auto image = unpack_image(p.blob, *index, index->entries[i]);
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ(*image, p.images[i]);
  }
}

TEST(Blob, AnyCutIsAnErrorAndNeverACrash) {
  const Packed p;
  for (std::size_t n = 0; n < p.blob.size(); n += n < 64 ? 1 : 97) {
    const std::span<const std::byte> cut(p.blob.data(), n);
    const Result<BlobIndex> index = read_blob(cut);
    if (!index)
      EXPECT_EQ(index.error().code, Code::kInternal);
    else  // frames are whole or the index refuses them
      FAIL() << "a blob cut at " << n << " of " << p.blob.size() << " was taken";
  }
}

TEST(Blob, AnyFlippedBitOfAFrameIsSeen) {
  const Packed p;
  const std::size_t begin = read_blob(p.blob)->begin;
  for (std::size_t at = begin; at < p.blob.size(); at += 5) {
    std::vector<std::byte> damaged = p.blob;
    damaged[at] ^= std::byte{0x10};
    const Result<BlobIndex> index = read_blob(damaged);
    ASSERT_TRUE(index);
    int wrong = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto image = unpack_image(damaged, *index, index->entries[i]);
      wrong += !image || *image != p.images[i];
    }
    EXPECT_GT(wrong, 0) << at;
  }
}

TEST(Blob, AnyFlippedBitOfTheIndexIsHarmless) {
  const Packed p;
  const std::size_t begin = read_blob(p.blob)->begin;
  for (std::size_t at = 0; at < begin; ++at) {
    std::vector<std::byte> damaged = p.blob;
    damaged[at] ^= std::byte{1};
    const Result<BlobIndex> index = read_blob(damaged);
    if (!index) continue;
    for (const BlobEntry& e : index->entries) (void)unpack_image(damaged, *index, e);  // sanitizers watch
  }
}

TEST(Blob, AFrameOfAnotherSizeThanItsIndexSaysIsRefusedBeforeMemoryIsAskedFor) {
  const Packed p;
  BlobIndex index = *read_blob(p.blob);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1} << 60}) {
    index.frames[index.entries[0].frame].bytes = size;
    const auto image = unpack_image(p.blob, index, index.entries[0]);
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().message, "the images inside this library are damaged: a frame's size is wrong");
  }
}

TEST(Images, HaveARowOfTheTable) {
  const std::string name = catalogue().back().name;
  BlobIndex index{.entries = {{.kernel = name, .target = kPtx, .entry = "f"}}, .frames = {}};
  const auto images = images_of(index);
  ASSERT_TRUE(images);
  EXPECT_EQ(images->front().variant, &catalogue().back());
  index.entries.push_back({.kernel = "fwd_of_another_build", .target = kPtx, .entry = "g"});
  const auto strange = images_of(index);
  ASSERT_FALSE(strange);
  EXPECT_EQ(strange.error().code, Code::kInternal);
  EXPECT_EQ(strange.error().message,
            "the images inside this library do not fit its catalogue, which lacks 'fwd_of_another_build'");
}

// The library that is built: what it carries is what the table says, whole.
TEST(CarriedImages, AreThoseOfTheTable) {
  ASSERT_TRUE(check_carried_images());
  std::set<std::pair<std::string, std::string>> seen;
  for (const Image& image : carried_images()) {
    ASSERT_NE(image.variant, nullptr);
    const std::string& name = image.variant->name;
    EXPECT_TRUE(seen.emplace(name, image.target.str()).second) << name << " twice for " << image.target.str();
    const bool sass = image.target.kind == Target::Kind::kSass;
    EXPECT_EQ(image.registers > 0, sass);
    EXPECT_LE(image.registers, kMaxRegistersPerThread);
    EXPECT_LE(image.local_bytes, image.variant->spill_bytes);
    EXPECT_LE(image.variant->shared_bytes, max_shared_bytes(image.target.cc));
    const auto content = image_bytes(image);
    ASSERT_TRUE(content) << content.error().message;
    ASSERT_EQ(content->size(), image.bytes);
    const std::string text(reinterpret_cast<const char*>(content->data()), content->size());
    EXPECT_NE(text.find(image.entry), std::string::npos) << "no " << image.entry;
    if (sass)
      EXPECT_EQ(text.substr(0, 4),
                "\x7f"
                "ELF");
    else
      EXPECT_EQ(text.back(), '\0');
  }
}

}  // namespace
}  // namespace flashfit
