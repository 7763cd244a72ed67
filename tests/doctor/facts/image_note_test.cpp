// The index of images that a library packs in its own way: what the library's builder writes, the doctor reads.
#include "runtime/images/image_note.hpp"

#include <gtest/gtest.h>

#include "doctor/facts/all_collectors.hpp"
#include "doctor/made/elf.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint32_t kNote = 7;  // SHT_NOTE

Binary read(std::vector<std::byte> note) {
  test::MadeElf made = test::make_library();
  made.sections.push_back({.name = ".note.gpu_images", .type = kNote, .content = std::move(note)});
  const auto bytes = made.bytes();
  const MemorySource source(bytes);
  const auto elf = read_elf(source);
  Binary binary;
  const auto result = elf ? collect_image_note(source, *elf, binary) : tl::unexpected(elf.error());
  if (!result) binary.error = result.error().message;
  return binary;
}

Binary read_text(const std::string& unit) {
  return read(make_image_note({{{.name = unit, .targets = {{.cc = 80}}}}}, "12.9", "8.8"));
}

TEST(ImageNote, IsReadAsItIsWritten) {
  const std::vector<ServedUnit> units = {
      {.name = "fp16 head_dim 64",
       .targets = {{.cc = 75}, {.cc = 80, .kind = flashfit::Target::Kind::kPtx}, {.cc = 120}}},
      {.name = "bf16 head_dim 64", .targets = {{.cc = 80}}}};
  const Binary binary = read(make_image_note(units, "12.9", "8.8"));
  EXPECT_EQ(binary.error, "");
  EXPECT_EQ(binary.toolkit, 12090);
  ASSERT_EQ(binary.containers.size(), 2U);
  const Container& fp16 = binary.containers[0];
  EXPECT_EQ(fp16.kernels, std::vector<std::string>{"fp16 head_dim 64"});
  ASSERT_EQ(fp16.entries.size(), 3U);
  EXPECT_EQ(fp16.entries[0].str(), "7.5");
  EXPECT_EQ(fp16.entries[0].toolkit, 12090);
  EXPECT_EQ(fp16.entries[1].str(), "8.0+PTX");
  EXPECT_EQ(fp16.entries[1].ptx_isa, 88);
  EXPECT_EQ(fp16.entries[2].str(), "12.0");
  EXPECT_EQ(binary.containers[1].entries.size(), 1U);
}

TEST(ImageNote, TakesArchitecturesAndWordsThatItDoesNotKnow) {
  const Binary binary = read_text("colour 1.2\nk: 9.0a 10.0f+PTX\nlast");
  EXPECT_EQ(binary.error, "");
  ASSERT_EQ(binary.containers.size(), 2U);
  EXPECT_EQ(binary.containers[0].entries[0].str(), "9.0a");
  EXPECT_EQ(binary.containers[0].entries[1].str(), "10.0f+PTX");
}

TEST(ImageNote, LiesAreNamed) {
  for (const char* const line : {"k: 9", "k: 9.", "k: .9", "k: 999.0", "k: 9.0b", "k: 9.0aa", "k:", "k: -1.0", "colour",
                                 "colour red", "colour 1"})
    EXPECT_EQ(read_text(std::string(line) + "\nlast")
                  .error.rfind("malformed: line '" + std::string(line) + "' of the index of GPU images at ", 0),
              0U)
        << read_text(std::string(line) + "\nlast").error;
  EXPECT_NE(read_text(std::string(101, 'k')).error, "");
  EXPECT_NE(read_text("k: 9.0\n" + std::string(70'000, '\n')).error, "") << "larger than any index";
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "k: 9.0\n";
  EXPECT_NE(read_text(many + "last").error, "");
  std::vector<std::byte> cut = make_image_note({}, "12.9", "8.8");
  cut.resize(20);
  EXPECT_NE(read(cut).error, "");
}

}  // namespace
}  // namespace flashfit::doctor
