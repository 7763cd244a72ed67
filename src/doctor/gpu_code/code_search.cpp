#include "doctor/gpu_code/code_search.hpp"

#include <algorithm>
#include <array>

#include "doctor/binaries/elf.hpp"
#include "doctor/gpu_code/next_word.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::size_t kElfHeader = 64, kWindow = std::max(kElfHeader, LinkedCudart::kWindow);
constexpr std::uint64_t kAlignment = kWord;
constexpr std::uint64_t kMostCubins = 1 << 16, kLargestSample = std::uint64_t{4} << 20;
constexpr std::uint32_t kElfMagic = 0x464c457f;

/// Whether what is looked for may begin with this.
bool is_wanted(std::uint32_t start) { return start == kElfMagic || LinkedCudart::may_begin(start); }

/// How far the tables of an ELF file reach, which end a cubin.
std::uint64_t extent(Bytes header) {
  Reader reader(header, 32);
  const std::uint64_t segments = reader.u64(), sections = reader.u64();
  reader.skip(6);  // flags, size of the header
  const std::uint64_t segment = reader.u16(), segment_count = reader.u16();
  const std::uint64_t section = reader.u16(), section_count = reader.u16();
  constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
  if (segments > kFar || sections > kFar) return 0;
  return std::max(segments + segment * segment_count, sections + section * section_count);
}

}  // namespace

void CodeSearch::note_cubin(std::uint64_t offset, Bytes header) {
  Reader machine(header, 18);
  if (machine.u16() != kMachineCuda || offset == 0) return;
  const std::uint64_t size = extent(header);
  if (size > kElfHeader && within(offset, size, size_) && found_.cubins.size() < kMostCubins)
    found_.cubins.push_back({offset, size});
}

void CodeSearch::note(std::uint64_t offset, Bytes window) {
  if (window[0] == std::byte{kElfMagic & 0xff}) {
    note_cubin(offset, window);
  } else {
    cudart_.look(window);
  }
}

void CodeSearch::look_at_words(std::uint64_t at, Bytes chunk) {
  if (carried_at_ + carried_.size() != at) carried_.clear();
  // What began in the last chunk.
  if (!carried_.empty()) {
    const std::size_t old = carried_.size(), taken = std::min(chunk.size(), kWindow);
    carried_.insert(carried_.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(taken));
    std::size_t i = (kAlignment - carried_at_ % kAlignment) % kAlignment;
    for (; i < old && i + kWindow <= carried_.size(); i += kAlignment)
      if (is_wanted(start_of_word(&carried_[i]))) note(carried_at_ + i, Bytes(carried_).subspan(i, kWindow));
    if (taken < kWindow) {
      i = std::min(i, carried_.size());
      carried_.erase(carried_.begin(), carried_.begin() + static_cast<std::ptrdiff_t>(i));
      carried_at_ += i;
      return;
    }
  }
  std::size_t i = (kAlignment - at % kAlignment) % kAlignment;
  // Only where a whole window follows.
  const Bytes starts = chunk.first(chunk.size() < kWindow ? 0 : chunk.size() - kWindow + kWord);
  for (i = next_word(starts, i, is_wanted); i + kWord <= starts.size(); i = next_word(starts, i + kWord, is_wanted))
    note(at + i, chunk.subspan(i, kWindow));
  i = std::min(i, chunk.size());
  carried_.assign(chunk.begin() + static_cast<std::ptrdiff_t>(i), chunk.end());
  carried_at_ = at + i;
}

/// Keeps the payload of the first machine code that begins in this chunk or later.
void CodeSearch::sample(std::uint64_t at, Bytes chunk) {
  const std::uint64_t end = at + chunk.size();
  if (!found_.sample) {
    const auto& containers = scanner_.found();
    for (std::size_t c = containers_seen_; c < containers.size() && !found_.sample; ++c)
      for (const FatbinEntry& e : containers[c].entries)
        if (e.kind == FatbinKind::kElf && e.offset >= at && e.offset <= end && e.size <= kLargestSample) {
          found_.sample = e;
          break;
        }
    containers_seen_ = containers.empty() ? 0 : containers.size() - 1;
    if (!found_.sample) return;
  }
  const FatbinEntry& e = *found_.sample;
  const std::uint64_t have = e.offset + found_.payload.size(), stop = std::min(e.offset + e.size, end);
  if (have < at || have >= stop) return;
  const Bytes piece = chunk.subspan(static_cast<std::size_t>(have - at), static_cast<std::size_t>(stop - have));
  found_.payload.insert(found_.payload.end(), piece.begin(), piece.end());
}

std::uint64_t CodeSearch::wanted() const {
  const std::uint64_t next = scanner_.wanted();
  if (!found_.sample || found_.payload.size() == found_.sample->size) return next;
  return std::min(next, found_.sample->offset + found_.payload.size());
}

Result<void> CodeSearch::feed(std::uint64_t at, Bytes chunk) {
  if (scanner_.wanted() < at + chunk.size()) look_at_words(at, chunk);
  if (auto fed = scanner_.feed(at, chunk); !fed) return fed;
  sample(at, chunk);
  return {};
}

Result<void> CodeSearch::pass_zeros(std::uint64_t at, std::uint64_t until) {
  // What began before the hole ends in these.
  static constexpr std::array<std::byte, kWindow> kZeros{};
  const auto first = static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, until - at));
  if (scanner_.wanted() >= at)
    if (auto fed = feed(at, Bytes(kZeros).first(first)); !fed) return fed;
  if (found_.sample && found_.sample->offset + found_.payload.size() >= at) {
    const std::uint64_t stop = std::min(found_.sample->offset + found_.sample->size, until);
    if (stop > found_.sample->offset)
      found_.payload.resize(std::max<std::size_t>(found_.payload.size(), stop - found_.sample->offset));
  }
  return scanner_.pass_zeros(until);
}

Result<CodeSearch::Found> CodeSearch::finish() {
  auto containers = scanner_.finish();
  if (!containers) return tl::unexpected(containers.error());
  found_.containers = std::move(*containers);
  found_.doubtful = scanner_.doubtful();
  found_.cudart = cudart_.major();
  // Cubins that containers hold uncompressed are no bare ones.
  std::size_t c = 0;
  std::erase_if(found_.cubins, [&](const BareCubin& cubin) {
    while (c < found_.containers.size() && found_.containers[c].offset + found_.containers[c].size <= cubin.offset) ++c;
    return c < found_.containers.size() && found_.containers[c].offset <= cubin.offset;
  });
  if (found_.sample && found_.payload.size() == found_.sample->size) {
    found_.sample->offset = 0;
  } else {
    found_.sample.reset();
  }
  return std::move(found_);
}

}  // namespace flashfit::doctor
