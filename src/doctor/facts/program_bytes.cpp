#include "doctor/facts/program_bytes.hpp"

#include <algorithm>

#include "doctor/binaries/elf_dynamic_entries.hpp"
#include "doctor/facts/binary_format.hpp"

namespace flashfit::doctor {
namespace {

// Symbols and their versions come early in a library: the largest of PyTorch's end at 10.8 MB. Texts that patchelf
// moves come last: the dynamic segment tells where, else the end of the file is kept.
constexpr std::uint64_t kKeptHead = std::uint64_t{11} << 20, kKeptTail = std::uint64_t{8} << 20;
// Of tables whose size the dynamic segment does not say.
constexpr std::uint64_t kKeptSymbols = std::uint64_t{4} << 20, kKeptVersions = std::uint64_t{256} << 10;
constexpr std::uint64_t kKeptHash = std::uint64_t{1} << 20;
// Of members with larger tables one is read at a time: of two that lie, each would take some 350 MB.
constexpr std::uint64_t kMostBesideOthers = std::uint64_t{40} << 20;
constexpr std::uint64_t kMostDynamic = std::uint64_t{1} << 20, kMostSections = std::uint64_t{4} << 20;
constexpr std::uint64_t kMostTexts = std::uint64_t{24} << 20;

/// The segments, as far as the start of the file has their table.
Elf segments_in(Bytes head) {
  constexpr std::uint64_t kHeaderSize = 56;
  Elf elf;
  Reader header(head, 32);
  const std::uint64_t at = header.u64();
  header.skip(16);
  const std::uint16_t count = header.u16();
  if (!is_elf(head) || !header.ok()) return elf;
  for (std::uint64_t i = 0; i < count && within(at, (i + 1) * kHeaderSize, head.size()); ++i) {
    Reader entry(head, at + i * kHeaderSize);
    ElfSegment segment{.type = entry.u32(), .flags = entry.u32(), .offset = entry.u64(), .address = entry.u64()};
    entry.skip(8);  // the physical address
    segment.size = entry.u64();
    segment.memory_size = entry.u64();
    elf.segments.push_back(segment);
  }
  return elf;
}

/// Wants, in a pass that has come to the end of the dynamic segment, the tables behind it that the segment names.
/// Whether it names texts at all: without them nothing can be read of the others.
bool want_tables(const Elf& elf, KeptSource& kept) {
  const auto entries = read_elf_dynamic_entries(kept, elf);
  if (!entries) return false;
  const auto want = [&](std::uint64_t tag, std::uint64_t size) {
    const auto address = dynamic_value(*entries, tag);
    const auto offset = address ? offset_of_address(elf, *address) : std::nullopt;
    if (offset) kept.want_ahead(*offset, size);
    return offset.has_value();
  };
  want(kDynamicSymbols, kKeptSymbols);
  for (const std::uint64_t tag : {kDynamicHash, kDynamicGnuHash}) want(tag, kKeptHash);
  for (const std::uint64_t tag : {kDynamicVersions, kDynamicVersionNeeds, kDynamicVersionDefinitions})
    want(tag, kKeptVersions);
  return want(kDynamicTexts, std::min(dynamic_value(*entries, kDynamicTextSize).value_or(0), kMostTexts));
}

/// Null: there is none, or one so large that it is none.
const ElfSegment* dynamic_segment(const Elf& elf) {
  const auto found = std::find_if(elf.segments.begin(), elf.segments.end(), [](const ElfSegment& segment) {
    return segment.type == kSegmentDynamic && segment.size < kMostDynamic &&
           segment.offset < std::uint64_t{1} << 62;  // far from where sums overflow
  });
  return found == elf.segments.end() ? nullptr : &*found;
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
  const std::uint64_t tail = content_.size() - std::min(content_.size(), kKeptTail);
  const Elf elf = at_random ? Elf{} : segments_in(*head);
  const ElfSegment* const dynamic = dynamic_segment(elf);
  bool follows = dynamic != nullptr && dynamic->offset + dynamic->size <= tail;
  if (!at_random) {
    kept_.want(0, kKeptHead);
    if (!follows) kept_.want(tail, kKeptTail);
    if (dynamic != nullptr) kept_.want(dynamic->offset, dynamic->size);
    want_section_table(*head, kept_);
  }
  CodeSearch search(cubin ? 0 : content_.size());
  auto passed = content_.read_through([&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
    kept_.feed(at, chunk);
    if (follows && at + chunk.size() >= dynamic->offset + dynamic->size) {
      follows = false;
      if (!want_tables(elf, kept_)) kept_.want_ahead(tail, kKeptTail);
      kept_.feed(at, chunk);
    }
    if (cubin) return at + chunk.size();
    if (is_compiler_) release_.feed(at, chunk);
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
