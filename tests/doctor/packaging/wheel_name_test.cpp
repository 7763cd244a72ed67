// Wheel names in words: what is refused and why, and what names say of CUDA, PyTorch and the C++ ABI. That well-formed
// names are read right is held against packaging by packaging_test.py.
#include "doctor/packaging/wheel_name.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/packaging/build_label.hpp"

namespace flashfit::doctor {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view name) {
  const auto wheel = parse_wheel_name(name);
  return wheel ? "taken" : wheel.error().message;
}

TEST(WheelName, IsTakenApart) {
  const auto w = parse_wheel_name("Flash_Attn-2.8.3%2Bcu12torch2.7cxx11abiFALSE-2b-cp310.cp311-abi3-linux_x86_64.whl");
  ASSERT_TRUE(w) << w.error().message;
  EXPECT_EQ(w->name, "flash-attn");
  EXPECT_EQ(w->version.text, "2.8.3+cu12torch2.7cxx11abiFALSE");
  EXPECT_EQ(w->version.local, "cu12torch2.7cxx11abifalse");
  EXPECT_EQ(w->build, "2b");
  ASSERT_EQ(w->tags.size(), 2u);
  EXPECT_EQ(w->tags[1].str(), "cp311-abi3-linux_x86_64");
}

TEST(WheelName, IsRefusedInWords) {
  EXPECT_THAT(refusal("a-1-py3-none-any.zip"), HasSubstr("does not end in .whl"));
  EXPECT_THAT(refusal("a-1-any.whl"), HasSubstr("has 3 parts between dashes"));
  EXPECT_THAT(refusal("a-1-2-3-py3-none-any.whl"), HasSubstr("has 7 parts"));
  EXPECT_THAT(refusal("a-x-py3-none-any.whl"), HasSubstr("version 'x': does not start with a number"));
  EXPECT_THAT(refusal("a-1-b-py3-none-any.whl"), HasSubstr("a build number starts with a digit"));
  EXPECT_THAT(refusal("a-1-py3--any.whl"), HasSubstr("'' is not a tag"));
  EXPECT_THAT(refusal("a-1234567890123456789-py3-none-any.whl"), HasSubstr("more than 18 digits"));
  EXPECT_THAT(refusal("a-1-" + std::string(2000, 'x') + "-none-any.whl"), HasSubstr("longer than 1024"));
  EXPECT_THAT(refusal("a-1+" + std::string(300, 'x') + "-py3-none-any.whl"), HasSubstr("longer than 256"));
}

TEST(WheelName, RefusalsPrintNoControlCharacters) {
  const std::string message = refusal("a\x1b[2J\r\n-1-py3-none-any.whl");
  EXPECT_THAT(message, HasSubstr("a\\x1b[2J\\x0d\\x0a-1"));
  for (const char c : refusal(std::string("\xe2\x80\xae") + '\0' + "-1-py3-none-any.whl"))
    EXPECT_TRUE(c >= ' ' && c < 0x7f);
}

TEST(WheelName, StandsForABoundedNumberOfTags) {
  std::string set = "a1";
  for (int i = 2; i <= 40; ++i) set += ".a" + std::to_string(i);
  EXPECT_EQ(refusal("a-1-" + set + "-none-any.whl"), "taken");
  EXPECT_THAT(refusal("a-1-" + set + "-" + set + "-any.whl"), HasSubstr("stands for more than 1024 tags"));
}

struct Labelled {
  const char *version, *name = "x";
  std::optional<BuildLabel::Number> cuda, torch;
  std::optional<bool> cxx11_abi;
};

TEST(BuildLabel, ReadsTheFormsThatProjectsUse) {
  using N = BuildLabel::Number;
  const Labelled cases[] = {
      {"2.8.3+cu12torch2.7cxx11abiFALSE", "flash_attn", N{12}, N{2, 7}, false},
      {"2.7.4.post1+cu124torch2.6cxx11abiTRUE", "flash_attn", N{12, 4}, N{2, 6}, true},
      {"1.4.0+cu11torch2.1cxx11abi0", "causal_conv1d", N{11}, N{2, 1}, false},
      {"2.1.2+pt26cu124", "torch_scatter", N{12, 4}, N{2, 6}, {}},
      {"2.1.2+pt210cu126", "torch_scatter", N{12, 6}, N{2, 10}, {}},
      {"2.0.9+pt112cu116", "torch_scatter", N{11, 6}, N{1, 12}, {}},
      {"2.2.0+cu128torch2.9.0andhigher.post4", "sageattention", N{12, 8}, N{2, 9}, {}},
      {"0.21.0+torch280cu128", "natten", N{12, 8}, N{2, 8}, {}},
      {"0.21.1+torch2100cu130", "natten", N{13, 0}, N{2, 10}, {}},
      {"0.15.1+torch1130cu117", "natten", N{11, 7}, N{1, 13}, {}},
      {"2.6.0+cu121", "torch", N{12, 1}, {}, {}},
      {"1.8.0+cu92", "torch", N{9, 2}, {}, {}},
      {"2.0.0+cpu.cxx11.abi", "torch", {}, {}, true},
      {"1.0+cuda12.4", "x", N{12, 4}, {}, {}},
      {"1.0+cu12.8.torch2.8", "x", N{12, 8}, N{2, 8}, {}},
      {"1.0+cu121.20240101", "x", N{12, 1}, {}, {}},
      {"12.4.5.8", "nvidia_cublas_cu12", N{12}, {}, {}},
      {"13.4.1", "cupy_cuda12x", N{12}, {}, {}},
      {"1.0+cu118", "x_cu12", N{11, 8}, {}, {}},
      {"2.6.0+rocm6.2", "torch", {}, {}, {}},
      {"1.0", "torch2trt", {}, {}, {}},
      {"1.0", "gptq4", {}, {}, {}},
  };
  for (const Labelled& c : cases) {
    const auto wheel = parse_wheel_name(std::string(c.name) + "-" + c.version + "-py3-none-any.whl");
    ASSERT_TRUE(wheel) << wheel.error().message;
    const BuildLabel label = label_of(*wheel);
    EXPECT_EQ(label.cuda, c.cuda) << c.name << " " << c.version;
    EXPECT_EQ(label.torch, c.torch) << c.version;
    EXPECT_EQ(label.cxx11_abi, c.cxx11_abi) << c.version;
    EXPECT_EQ(label.torch_or_newer, std::string_view(c.version).find("higher") != std::string_view::npos);
    EXPECT_EQ(label.cpu, std::string_view(c.version).find("cpu") != std::string_view::npos);
    EXPECT_EQ(label.other_accelerator,
              std::string_view(c.version).find("rocm") != std::string_view::npos ? "rocm" : "");
  }
}

}  // namespace
}  // namespace flashfit::doctor
