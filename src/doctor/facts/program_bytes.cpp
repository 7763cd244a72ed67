#include "doctor/facts/program_bytes.hpp"

#include <algorithm>

#include "doctor/binaries/elf.hpp"
#include "doctor/facts/binary_format.hpp"

namespace flashfit::doctor {
namespace {

// Symbols come early in a library and texts that patchelf moves come last: the largest of PyTorch's end at 8.1 MB, and
// its last tables fill 7.1 MB.
constexpr std::uint64_t kKeptHead = std::uint64_t{10} << 20, kKeptTail = std::uint64_t{8} << 20;
// Of members with larger tables one is read at a time: of two that lie, each would take some 350 MB.
constexpr std::uint64_t kMostBesideOthers = std::uint64_t{40} << 20;
constexpr std::uint64_t kMostDynamic = std::uint64_t{1} << 20, kMostSections = std::uint64_t{4} << 20;

/// The dynamic segment, which lies behind all GPU code: its place stands at the start of the file.
void want_dynamic_segment(Bytes head, KeptSource& kept) {
  constexpr std::uint64_t kHeaderSize = 56;
  Reader header(head, 32);
  const std::uint64_t at = header.u64();
  header.skip(16);
  const std::uint16_t count = header.u16();
  if (!is_elf(head) || !header.ok()) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!within(at, (i + 1) * kHeaderSize, head.size())) return;
    Reader segment(head, at + i * kHeaderSize);
    const std::uint32_t type = segment.u32();
    segment.skip(4);
    const std::uint64_t offset = segment.u64();
    segment.skip(16);
    const std::uint64_t size = segment.u64();
    if (type == kSegmentDynamic && size < kMostDynamic) kept.want(offset, size);
  }
}

/// The section table, which tells which parts are read next: linkers put it last, patchelf anywhere. Parts that are
/// read with it, such as the names of sections, mostly lie beside it.
void want_section_table(Bytes head, KeptSource& kept) {
  constexpr std::uint64_t kBeside = std::uint64_t{64} << 10;
  Reader header(head, 40);
  const std::uint64_t at = header.u64();
  header.skip(10);
  const std::uint64_t size = std::uint64_t{header.u16()} * header.u16();
  if (!is_elf(head) || !header.ok() || at == 0 || size > kMostSections) return;
  kept.want(at - std::min(at, kBeside), size + 2 * kBeside);
}

/// The driver takes a cubin as a whole: nothing in it is GPU code of its own.
bool is_cubin_head(Bytes head) { return is_elf(head) && Reader(head, 18).u16() == kMachineCuda; }

/// Passes over a hole that begins at `at`.
Result<void> pass_hole(const Source& source, std::uint64_t at, CodeSearch& search) {
  const std::uint64_t data = source.next_data(at);
  if (data == at || search.wanted() >= data) return {};
  return search.pass_zeros(at, data);
}

}  // namespace

Result<void> ProgramBytes::first_pass() {
  const bool at_random = content_.source() != nullptr;
  const auto head = content_.head(kHeadSize);
  if (!head) return tl::unexpected(head.error());
  const bool cubin = is_cubin_head(*head);
  if (at_random && cubin) return {};
  if (!at_random) {
    kept_.want(0, kKeptHead);
    kept_.want(content_.size() - std::min(content_.size(), kKeptTail), kKeptTail);
    want_dynamic_segment(*head, kept_);
    want_section_table(*head, kept_);
  }
  CodeSearch search(cubin ? 0 : content_.size());
  auto passed = content_.read_through([&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
    kept_.feed(at, chunk);
    if (cubin) return at + chunk.size();
    if (auto fed = search.feed(at, chunk); !fed) return tl::unexpected(fed.error());
    if (!at_random) return at + chunk.size();
    if (auto passed = pass_hole(*content_.source(), at + chunk.size(), search); !passed)
      return tl::unexpected(passed.error());
    return search.wanted();
  });
  if (!passed) return passed;
  auto finished = search.finish();
  if (!finished) return tl::unexpected(finished.error());
  found_ = std::move(*finished);
  return {};
}

Result<void> ProgramBytes::next_pass() {
  if (auto wanted = kept_.want_missed(); !wanted) return wanted;
  if (kept_.wanted() > kMostBesideOthers && !alone_.owns_lock()) {
    static std::mutex one_at_a_time;
    alone_ = std::unique_lock(one_at_a_time);
  }
  return content_.read_through([&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
    kept_.feed(at, chunk);
    return at + chunk.size() >= kept_.end() ? content_.size() : at + chunk.size();
  });
}

}  // namespace flashfit::doctor
