#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include "doctor/gpu_code/code_search.hpp"
#include "doctor/gpu_code/cubin.hpp"
#include "doctor/gpu_code/fatbin_payload.hpp"
#include "doctor/gpu_code/fatbin_scanner.hpp"
#include "doctor/gpu_code/ptx.hpp"
#include "doctor/made/elf.hpp"
#include "doctor/made/fatbin.hpp"

namespace flashfit::doctor {
namespace {

using test::MadeBytes;
using test::make_cubin;
using test::make_fatbin;

const char* const kPtx = "// made\n/* by\nhand */\n.version 8.8\n.target sm_90a, debug\n.address_size 64\n";

std::vector<std::byte> bytes_of(std::string_view text) { return MadeBytes().add(text).bytes(); }

std::vector<std::byte> sample() {
  return make_fatbin({{.payload = make_cubin(7, 0x5a0d5a).bytes()},
                      {.kind = FatbinKind::kPtx,
                       .flags = 0x100011,
                       .major = 8,
                       .minor = 8,
                       .payload = bytes_of(kPtx),
                       .options = "-O3",
                       .header = 0x60}});
}

TEST(Fatbin, SectionGivesContainersAndEntries) {
  MadeBytes section;
  section.add(sample()).zeros(24).add(sample()).zeros(3);
  const auto containers = read_fatbins(MemorySource(section.bytes()), 0, section.size());
  ASSERT_TRUE(containers.has_value()) << containers.error().message;
  ASSERT_EQ(containers->size(), 2U);
  EXPECT_EQ(containers->at(1).offset, sample().size() + 24);
  ASSERT_EQ(containers->at(1).entries.size(), 2U);
  const FatbinEntry& elf = containers->at(0).entries[0];
  EXPECT_EQ(elf.kind, FatbinKind::kElf);
  EXPECT_EQ(elf.architecture, 90U);
  EXPECT_EQ(elf.options, "");
  const FatbinEntry& ptx = containers->at(1).entries[1];
  EXPECT_EQ(ptx.kind, FatbinKind::kPtx);
  EXPECT_EQ(ptx.major, 8);
  EXPECT_EQ(ptx.minor, 8);
  EXPECT_EQ(ptx.flags & kFatbinArchitectureTarget, kFatbinArchitectureTarget);
  EXPECT_EQ(ptx.options, "-O3");
}

/// What a scan finds when it is fed in chunks of `size`.
Result<std::vector<FatbinContainer>> scan(Bytes bytes, std::size_t size, FatbinScanner::Mode mode) {
  FatbinScanner scanner(0, bytes.size(), mode);
  for (std::size_t at = 0; at < bytes.size(); at += size)
    if (auto fed = scanner.feed(at, bytes.subspan(at, std::min(size, bytes.size() - at))); !fed)
      return tl::unexpected(fed.error());
  return scanner.finish();
}

TEST(Fatbin, ScanFindsTheSameInChunksOfAnySize) {
  MadeBytes stream;
  stream.add("not a container, and").zeros(4).add(sample()).zeros(40).add(sample()).add("tail");
  const auto whole = scan(stream.bytes(), stream.size(), FatbinScanner::Mode::kSearch);
  ASSERT_EQ(whole->size(), 2U);
  for (std::size_t size = 1; size < 300; size += size < 70 ? 1 : 37) {
    const auto found = scan(stream.bytes(), size, FatbinScanner::Mode::kSearch);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    ASSERT_EQ(found->size(), 2U) << size;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(found->at(i).offset, whole->at(i).offset);
      ASSERT_EQ(found->at(i).entries.size(), 2U);
      EXPECT_EQ(found->at(i).entries[1].offset, whole->at(i).entries[1].offset);
    }
  }
}

/// What a search finds where zeros from `hole` to `data` are passed over instead of fed, else in chunks of `size`.
CodeSearch::Found search(Bytes bytes, std::size_t hole, std::size_t data, std::size_t size) {
  CodeSearch search(bytes.size());
  const auto feed = [&](std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; at += size)
      EXPECT_TRUE(search.feed(at, bytes.subspan(at, std::min(size, to - at))).has_value());
  };
  feed(0, hole);
  EXPECT_TRUE(search.pass_zeros(hole, data).has_value());
  feed(data, bytes.size());
  auto found = search.finish();
  EXPECT_TRUE(found.has_value());
  return found ? *found : CodeSearch::Found{};
}

TEST(Fatbin, SearchFindsTheSameWhereHolesArePassedOver) {
  // In a payload, behind a container, in a container that is cut short by it.
  MadeBytes payload;
  payload.add(make_cubin(7, 0x5a0d5a).bytes()).zeros(20'000).add("end");
  MadeBytes stream;
  stream.add(make_fatbin({{.payload = payload.bytes()}, {.payload = bytes_of("more")}})).align(8);
  const std::size_t in_payload = stream.size() - 20'000;
  const std::size_t behind = stream.size();
  stream.zeros(30'000).add(sample());
  auto cut = sample();
  cut.resize(40);
  stream.align(8).add(cut);
  const std::size_t in_cut = stream.size();
  stream.zeros(30'000).align(8).add(sample()).align(8);
  const auto bytes = stream.bytes();
  const auto whole = search(bytes, bytes.size(), bytes.size(), bytes.size());
  ASSERT_EQ(whole.containers.size(), 3U);
  ASSERT_TRUE(whole.sample.has_value());
  for (const auto& [from, to] : {std::pair{in_payload, in_payload + 10'000},
                                 {behind, behind + 30'000},
                                 {behind + 3, behind + 29'999},
                                 {in_cut, in_cut + 29'999},
                                 {in_cut + 100, in_cut + 101}})
    for (const std::size_t size : {7UL, 64UL, 4096UL, bytes.size()}) {
      const auto found = search(bytes, from, to, size);
      ASSERT_EQ(found.containers.size(), 3U) << from << " " << size;
      for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found.containers[i].offset, whole.containers[i].offset);
      EXPECT_EQ(found.doubtful, whole.doubtful);
      EXPECT_EQ(found.payload, whole.payload);
    }
}

TEST(Fatbin, SectionOfAHoleIsPassedOver) {
  constexpr std::uint64_t kSize = std::uint64_t{1} << 40;
  FatbinScanner scanner(5, kSize, FatbinScanner::Mode::kSection);
  ASSERT_TRUE(scanner.pass_zeros(kSize).has_value());
  EXPECT_EQ(scanner.wanted(), kSize);
  EXPECT_TRUE(scanner.finish()->empty());
}

TEST(Fatbin, SearchGoesOnBehindAContainerThatIsNone) {
  auto broken = sample();
  broken[16 + 4] = std::byte{1};  // header length of the first entry
  MadeBytes stream;
  stream.add(broken).align(8).add(sample());
  FatbinScanner scanner(0, stream.size(), FatbinScanner::Mode::kSearch);
  ASSERT_TRUE(scanner.feed(0, stream.bytes()).has_value());
  EXPECT_EQ(scanner.doubtful(), 1U);
  EXPECT_EQ(scanner.finish()->size(), 1U);
}

std::string error_of(Bytes bytes) {
  const auto read = read_fatbins(MemorySource(bytes), 0, bytes.size());
  return read ? "no error" : read.error().message;
}

template <class T>
std::string error_with(std::size_t at, std::uint64_t value) {
  return error_of(MadeBytes().add(sample()).put<T>(at, value).bytes());
}

TEST(Fatbin, LiesAreNamed) {
  EXPECT_EQ(error_of(bytes_of("no zeros")), "malformed: no fatbin container at 0");
  EXPECT_EQ(error_of(Bytes(sample()).first(20)), "malformed: size of a fatbin container at 8");
  EXPECT_EQ(error_of(Bytes(sample()).first(10)), "malformed: fatbin cut short at 0");
  EXPECT_EQ(error_with<std::uint16_t>(4, 2), "malformed: version of a fatbin container at 4");
  EXPECT_EQ(error_with<std::uint64_t>(8, ~0ULL), "malformed: size of a fatbin container at 8");
  EXPECT_EQ(error_with<std::uint16_t>(18, 0), "malformed: version of a fatbin entry at 18");
  EXPECT_EQ(error_with<std::uint32_t>(20, 0x20), "malformed: header length of a fatbin entry at 20");
  EXPECT_EQ(error_with<std::uint32_t>(20, 0xffff), "malformed: header length of a fatbin entry at 20");
  EXPECT_EQ(error_with<std::uint64_t>(24, 1ULL << 48), "malformed: size of a fatbin entry at 24");
  EXPECT_EQ(error_with<std::uint32_t>(32, 1U << 30), "malformed: compressed size of a fatbin entry at 32");
  EXPECT_EQ(error_with<std::uint32_t>(36, 0x40), "no error") << "an options record of zeros is empty";
  EXPECT_EQ(error_with<std::uint32_t>(36, 0x46), "malformed: options of a fatbin entry at 36");
}

TEST(Fatbin, ImagesAreDecompressed) {
  const std::string text(5000, 'x');
  std::vector<char> lz4(6000), zstd(6000);
  lz4.resize(static_cast<std::size_t>(LZ4_compress_default(text.data(), lz4.data(), 5000, 6000)));
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), text.data(), text.size(), 3));
  const auto read = [&](std::uint64_t flags, std::span<const char> packed, std::uint64_t plain, std::uint64_t limit) {
    const auto bytes =
        make_fatbin({{.flags = flags, .payload = bytes_of({packed.data(), packed.size()}), .plain = plain}});
    const MemorySource source(bytes);
    const auto image = read_image(source, read_fatbins(source, 0, bytes.size())->at(0).entries[0], limit);
    return image ? std::string(as_text(*image)) : image.error().message;
  };
  EXPECT_EQ(read(0x2011, lz4, 5000, kMostImageBytes), text);
  EXPECT_EQ(read(0x8011, zstd, 5000, kMostImageBytes), text);
  EXPECT_EQ(read(0x2011, lz4, 4999, kMostImageBytes), "malformed: LZ4 image at 88");
  EXPECT_EQ(read(0x8011, zstd, 5001, kMostImageBytes), "malformed: ZSTD image at 88");
  EXPECT_EQ(read(0x2011, lz4, 1 << 27, kMostImageBytes), "malformed: size of an LZ4 image at 88");
  EXPECT_EQ(read(0x8011, zstd, 5000, 4999), "malformed: size of an image beyond the limit of 4999 at 88");
  EXPECT_EQ(read(0x11, zstd, 5000, kMostImageBytes), "malformed: compression that is not known at 88");
  EXPECT_EQ(read(0x18011, zstd, 5000, kMostImageBytes), "malformed: LTO code, which is not decoded, at 88");
}

Result<Cubin> cubin_of(const test::MadeElf& made) {
  const auto bytes = made.bytes();
  const MemorySource source(bytes);
  const auto elf = read_elf(source);
  if (!elf) return tl::unexpected(elf.error());
  return read_cubin(source, *elf);
}

TEST(CubinFile, KernelsHaveTheirResources) {
  const auto cubin = cubin_of(make_cubin(7, 0x5a055a));
  ASSERT_TRUE(cubin.has_value()) << cubin.error().message;
  ASSERT_EQ(cubin->kernels.size(), 1U);
  const CubinKernel& kernel = cubin->kernels[0];
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.registers, 40);
  EXPECT_EQ(kernel.stack_bytes, 64U);
  EXPECT_EQ(kernel.static_shared_bytes, 2048U);
  EXPECT_EQ(kernel.max_threads, 256);
  EXPECT_FALSE(kernel.exact_threads);
  auto exact = make_cubin(7, 0x5a055a);
  exact.sections[3].content[1] = std::byte{0x10};
  EXPECT_TRUE(cubin_of(exact)->kernels[0].exact_threads);
}

TEST(CubinFile, TargetAndToolkitOfEveryGeneration) {
  const auto says = [](std::uint8_t abi, std::uint32_t flags, const std::string& options = "") {
    const auto cubin = cubin_of(make_cubin(abi, flags, options));
    return cubin ? fmt::format("{} {}.{}", cubin->target.str(), cubin->toolkit_major, cubin->toolkit_minor)
                 : cubin.error().message;
  };
  EXPECT_EQ(says(7, 0x5a055a), "9.0 12.9");
  EXPECT_EQ(says(7, 0x5a0d5a), "9.0a 12.9");
  EXPECT_EQ(says(8, 0x6006402), "10.0 0.0");
  EXPECT_EQ(says(8, 0x600640a), "10.0a 0.0");
  EXPECT_EQ(says(8, 0x6006402, "-arch sm_100f"), "10.0f 13.0");
  EXPECT_EQ(says(8, 0x6005a02, "-arch sm_90a "), "9.0a 13.0");
  EXPECT_EQ(says(8, 0x6005a02, "-arch sm_90 "), "9.0 13.0");
  EXPECT_EQ(says(7, 0), "malformed: architecture of a cubin at 48");
  auto absurd = make_cubin(7, 0x5a055a);
  absurd.version = 999;
  EXPECT_EQ(cubin_of(absurd)->toolkit(), 99090);
  absurd.version = 1000;
  EXPECT_EQ(cubin_of(absurd)->toolkit(), 0) << "a release that no toolkit has";
  auto compat = make_cubin(8, 0x6005a02);
  compat.sections.push_back({.name = ".nv.compat", .content = MadeBytes().u32(0x00010202).u32(0x00010902).bytes()});
  EXPECT_EQ(cubin_of(compat)->target.str(), "9.0a");
  auto named = make_cubin(8, 0x6006402, "-arch sm_100f");
  named.sections.push_back(compat.sections.back());
  EXPECT_EQ(cubin_of(named)->target.str(), "10.0f") << "the tool's own words go first";
}

TEST(CubinFile, LiesAreNamed) {
  auto made = make_cubin(7, 0x5a055a);
  made.sections[2].content.resize(14);
  EXPECT_EQ(cubin_of(made).error().message.rfind("malformed: record of .nv.info at ", 0), 0U);
  EXPECT_EQ(cubin_of(test::make_library()).error().message, "malformed: machine of a cubin at 18");
}

TEST(PtxText, HeadIsRead) {
  const auto text = bytes_of(kPtx);
  EXPECT_TRUE(is_ptx(text));
  const auto ptx = read_ptx(text);
  ASSERT_TRUE(ptx.has_value()) << ptx.error().message;
  EXPECT_EQ(ptx->isa_major, 8);
  EXPECT_EQ(ptx->isa_minor, 8);
  EXPECT_EQ(ptx->target.str(), "9.0a");
  EXPECT_EQ(ptx->address_bits, 64);
}

// What the first look at ten thousand texts of a wheel may leave out, and what it must not.
TEST(PtxText, FirstBytesTellWhatIsNone) {
  const std::string comment(300, '/');
  for (const std::string& text : {std::string(kPtx), "// " + comment, "/* " + comment, comment.substr(0, 1),
                                  std::string(" \n\t"), std::string("\n.vers"), std::string()})
    EXPECT_TRUE(may_be_ptx(bytes_of(text))) << text;
  for (const std::string_view text : {"#pragma once", "import os", "// a header\n#include", "/x", ".visible"})
    EXPECT_FALSE(may_be_ptx(bytes_of(text))) << text;
}

TEST(PtxText, LiesAreNamed) {
  const auto error_of = [](std::string_view text) { return read_ptx(bytes_of(text)).error().message; };
  EXPECT_FALSE(is_ptx(bytes_of("#!/bin/sh\n")));
  EXPECT_EQ(error_of(".version 8\n"), "malformed: PTX .version at 10");
  EXPECT_EQ(error_of(".version 2000000000.0\n.target sm_90"), "malformed: PTX .version at 21");
  EXPECT_EQ(error_of(".version 8.0\n.tarpet sm_90"), "malformed: PTX .target at 20");
  EXPECT_EQ(error_of(".version 8.0\n.target sm_1"), "malformed: PTX .target at 25");
  EXPECT_EQ(error_of(".version 8.0\n.target sm_90\n.address_size x"), "malformed: PTX .address_size at 42");
  EXPECT_EQ(error_of("/* no end"), "malformed: PTX .version at 9");
}

}  // namespace
}  // namespace flashfit::doctor
