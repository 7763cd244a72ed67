#include "doctor/packaging/metadata.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/packaging/headers.hpp"

namespace flashfit::doctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kMetadata[] =
    "Metadata-Version: 2.1\r\nName: Flash_Attn\nVersion: 2.8.3\nRequires-Python: >=3.9, !=3.9.0\n"
    "Requires-Dist: torch (>=2.6,<2.8)\nRequires-Dist: Einops[x, y] >=0.7 ; extra == 'all'\n"
    "Requires-Dist: thing @ https://example.org/a;b ; python_version < '3'\nRequires-Dist: b >=>1\n"
    "License: several\n lines\n\tof it\n\nName: of the description\n";

TEST(Headers, AreUnfoldedUpToTheEmptyLine) {
  const auto h = parse_headers(kMetadata);
  ASSERT_TRUE(h);
  EXPECT_EQ(h->size(), 9u);
  EXPECT_EQ(h->front().key, "metadata-version");
  EXPECT_EQ(h->front().value, "2.1");
  EXPECT_EQ(h->back().value, "several lines of it");
}

TEST(Headers, ThatLieAreNamedWithTheirPlace) {
  const auto message = [](const std::string& text) {
    const auto h = parse_headers(text);
    return h ? "taken" : h.error().message;
  };
  EXPECT_EQ(message("A: b\nno header\n"), "malformed: a line that is no header at 5");
  EXPECT_EQ(message(" folded\n"), "malformed: a continued line before any header at 0");
  EXPECT_EQ(message(std::string("A: b\nC: \0\n", 10)), "malformed: a zero byte in a header at 5");
  EXPECT_THAT(message(std::string(2 << 20, 'x')), HasSubstr("headers of more than 1048576 bytes at 0"));
  std::string many;
  for (int i = 0; i < 20'001; ++i) many += "A: b\n";
  EXPECT_THAT(message(many), HasSubstr("more than 20000 headers at 100000"));
  EXPECT_EQ(message("\xef\xbb\xbfName: a\n"), "taken");
}

TEST(Metadata, SaysWhatTheWheelNeeds) {
  const auto m = parse_metadata(kMetadata);
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_EQ(m->name, "flash-attn");
  ASSERT_EQ(m->requirements.size(), 3u);
  EXPECT_EQ(m->requirements[0].name, "torch");
  EXPECT_EQ(m->requirements[0].versions.size(), 2u);
  EXPECT_EQ(refusing(m->requirements[0].versions, parse_version("2.7.1+cu128").value()), nullptr);
  EXPECT_EQ(refusing(m->requirements[0].versions, parse_version("2.8").value())->text, "<2.8");
  EXPECT_THAT(m->requirements[1].extras, ElementsAre("x", "y"));
  EXPECT_TRUE(m->requirements[1].optional());
  EXPECT_EQ(m->requirements[2].url, "https://example.org/a;b");
  EXPECT_FALSE(m->requirements[2].optional());
  EXPECT_THAT(m->unread, ElementsAre(HasSubstr("Requires-Dist: version '>1'")));
  EXPECT_EQ(python_misfit(*m, parse_python("3.11").value()), "");
  EXPECT_EQ(python_misfit(*m, parse_python("3.9").value()), "needs Python >=3.9, !=3.9.0; yours is 3.9");
  EXPECT_EQ(python_misfit(*m, parse_python("3.9.1").value()), "");
}

TEST(Metadata, ThatIsWrongIsRefusedOrSetAside) {
  EXPECT_EQ(parse_metadata("Version: 1\n").error().message, "METADATA has no Name");
  EXPECT_THAT(parse_metadata("Name: a\n").error().message, HasSubstr("METADATA: version ''"));
  const auto m = parse_metadata("Name: a\nVersion: 1\nRequires-Python: >=3.8.*\n");
  ASSERT_TRUE(m);
  EXPECT_THAT(m->unread, ElementsAre(HasSubstr("Requires-Python:")));
  EXPECT_EQ(python_misfit(*m, parse_python("3.7").value()), "");
}

TEST(Requirement, IsRefusedInWords) {
  for (const char* text : {"", "[a]", "-a", "a-", "a[b", "a >", "a b", "a >=1 b", "a ~=1"}) {
    const auto r = parse_requirement(text);
    EXPECT_FALSE(r) << text;
  }
  EXPECT_TRUE(parse_requirement("a"));
  EXPECT_TRUE(parse_requirement("a==1.*"));
}

TEST(WheelFile, DisagreesWithTheName) {
  const auto name =
      parse_wheel_name("torch-2.1.2-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl").value();
  const auto file = parse_wheel_file(
      "Wheel-Version: 1.0\nGenerator: bdist_wheel (0.41)\nRoot-Is-Purelib: false\nBuild: 1\n"
      "Tag: cp311-cp311-linux_x86_64\n");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_FALSE(file->pure);
  EXPECT_THAT(disagreements(name, *file),
              ElementsAre("the file name says manylinux2014_x86_64.manylinux_2_17_x86_64, WHEEL says linux_x86_64"));
  const auto same = parse_wheel_file(
      "Wheel-Version: 1.0\nBuild: 1\nTag: cp311-cp311-manylinux2014_x86_64\n"
      "Tag: cp311-cp311-manylinux_2_17_x86_64\n");
  EXPECT_THAT(disagreements(name, *same), IsEmpty());
  EXPECT_THAT(disagreements(name, *parse_wheel_file("Wheel-Version: 1.0\n")), ElementsAre("WHEEL names no tag"));
  EXPECT_FALSE(parse_wheel_file("Generator: x\n"));
  // Installers read no Tag: nvidia-nvcomp-cu12 4.2.0.14 has such a one.
  EXPECT_THAT(disagreements(name, *parse_wheel_file("Wheel-Version: 1.0\nTag: py3-manylinux_2_28_x86_64\n")),
              ElementsAre(HasSubstr("'py3-manylinux_2_28_x86_64': needs three parts")));
  EXPECT_THAT(disagreements(name, *parse_metadata("Name: pytorch\nVersion: 2.1.3\n")),
              ElementsAre("the file name says torch, METADATA says pytorch",
                          "the file name says version 2.1.2, METADATA says 2.1.3"));
  EXPECT_THAT(disagreements(name, *parse_metadata("Name: Torch\nVersion: 2.1.2.0\n")), IsEmpty());
}

TEST(WheelFile, OfALaterFormatIsOneThatNoInstallerReads) {
  const auto misfit = [](const char* version) { return format_misfit(WheelFile{.version = version}); };
  for (const char* const read : {"1.0", "1", "1.9", "0.1", "01.0"}) EXPECT_EQ(misfit(read), "") << read;
  for (const char* const refused : {"2.0", "10.0", "x", "1x.0", ".1", "1.", "1..0", "1.0.a"})
    EXPECT_EQ(misfit(refused), std::string("Wheel-Version: ") + refused + "; installers read 1.x");
}

TEST(DistInfo, IsOneAndOfTheFilesName) {
  const auto name = parse_wheel_name("flash_attn-1.0-py3-none-any.whl").value();
  EXPECT_EQ(dist_info_misfit(name, {}), "");
  EXPECT_EQ(dist_info_misfit(name, {"Flash.Attn-1.0.dist-info"}), "");
  EXPECT_EQ(dist_info_misfit(name, {"flash_attn_3-1.0.dist-info"}), "") << "with dashes it would be flash-attn's 3";
  EXPECT_EQ(dist_info_misfit(name, {"flash_attns-1.0.dist-info"}),
            "its folder flash_attns-1.0.dist-info is not flash-attn's");
  EXPECT_EQ(dist_info_misfit(name, {"flash-1.0.dist-info"}), "its folder flash-1.0.dist-info is not flash-attn's");
  EXPECT_EQ(dist_info_misfit(name, {"a-1.0.dist-info", "flash_attn-1.0.dist-info"}),
            "2 .dist-info folders, such as a-1.0.dist-info and flash_attn-1.0.dist-info; installers take one");
}

}  // namespace
}  // namespace flashfit::doctor
