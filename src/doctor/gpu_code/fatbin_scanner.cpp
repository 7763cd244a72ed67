#include "doctor/gpu_code/fatbin_scanner.hpp"

#include <algorithm>
#include <array>

#include "doctor/gpu_code/next_word.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kMostContainers = 1 << 18, kMostEntries = 1 << 18;
constexpr std::uint64_t kMostOptionBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kAlignment = kWord, kEntryStart = 8;
constexpr std::size_t kReadAhead = 4096;

bool is_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Result<void> FatbinScanner::feed(std::uint64_t at, Bytes chunk) {
  if (at > wanted()) return fail(Code::kInternal, fmt::format("fatbin scan fed at {}, not at {}", at, wanted()));
  while (at_ < end_) {
    const std::uint64_t fed = wanted() - at;
    const Bytes rest = fed < chunk.size() ? chunk.subspan(static_cast<std::size_t>(fed)) : Bytes();
    Bytes view = held_;
    if (held_.empty() && rest.size() >= std::max<std::uint64_t>(needed_, 1)) {
      view = rest;
    } else if (held_.empty() || held_.size() < needed_) {
      const auto missing = static_cast<std::size_t>(std::max<std::uint64_t>(needed_, 1) - held_.size());
      held_.insert(held_.end(), rest.begin(),
                   rest.begin() + static_cast<std::ptrdiff_t>(std::min(missing, rest.size())));
      if (rest.size() < missing) return {};
      continue;
    }
    const auto step = advance(view.first(static_cast<std::size_t>(std::min<std::uint64_t>(view.size(), end_ - at_))));
    if (!step) return tl::unexpected(step.error());
    needed_ = step->needed;
    at_ += step->consumed;
    const auto used = std::min<std::uint64_t>(step->consumed, held_.size());
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(used));
    if (containers_.size() > kMostContainers) return beyond("number of fatbin containers", kMostContainers, at_);
    if (entries_ > kMostEntries) return beyond("number of fatbin entries", kMostEntries, at_);
    if (option_bytes_ > kMostOptionBytes) return beyond("length of all options", kMostOptionBytes, at_);
  }
  return {};
}

Result<void> FatbinScanner::pass_zeros(std::uint64_t until) {
  static constexpr std::array<std::byte, kReadAhead> kZeros{};
  until = std::min(until, end_);
  while (wanted() < until) {
    // No container begins with a zero, and none is open: whole words are passed over at once.
    if (!inside_ && held_.empty() && until - at_ >= kAlignment) {
      at_ += (until - at_) / kAlignment * kAlignment;
      needed_ = 0;
      continue;
    }
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kReadAhead, until - wanted()));
    if (auto fed = feed(wanted(), Bytes(kZeros).first(size)); !fed) return fed;
  }
  return {};
}

Result<FatbinScanner::Step> FatbinScanner::advance(Bytes view) {
  auto step = inside_ ? read_next_entry(view) : search(view);
  if (step && !inside_ && step->consumed == 0 && step->needed == 0) step = open_container(view);
  if (step && step->needed > end_ - at_) step = malformed("fatbin cut short", at_);
  if (!step && mode_ == Mode::kSearch) return give_up();
  return step;
}

/// Passes over what is no container. Nothing consumed and nothing needed: one may begin here.
Result<FatbinScanner::Step> FatbinScanner::search(Bytes view) const {
  std::size_t passed = 0;
  if (mode_ == Mode::kSection) {
    while (view.size() - passed >= kAlignment && is_zero(view.subspan(passed, kAlignment))) passed += kAlignment;
  } else {
    passed = next_word(view, 0, begins_fatbin);
  }
  if (passed > 0 || view.size() >= kAlignment) return Step{.consumed = passed};
  const std::uint64_t word = std::min(kAlignment, end_ - at_);
  if (view.size() < word) return Step{.needed = word};
  // Less than a word ends the range.
  if (mode_ == Mode::kSection && !is_zero(view)) return malformed("no fatbin container", at_);
  return Step{.consumed = view.size()};
}

Result<FatbinScanner::Step> FatbinScanner::open_container(Bytes view) {
  if (!is_fatbin(view)) return malformed("no fatbin container", at_);
  if (view.size() < kFatbinHeaderSize) return Step{.needed = kFatbinHeaderSize};
  auto container = read_container_header(view, at_);
  if (!container) return tl::unexpected(container.error());
  if (!within(at_, container->size, end_)) return malformed("size of a fatbin container", at_ + 8);
  inside_ = container->size > kFatbinHeaderSize;
  containers_.push_back(std::move(*container));
  return Step{.consumed = kFatbinHeaderSize};
}

Result<FatbinScanner::Step> FatbinScanner::read_next_entry(Bytes view) {
  FatbinContainer& container = containers_.back();
  const std::uint64_t left = container.offset + container.size - at_;
  if (left < kEntryStart) return malformed("fatbin entry cut short", at_);
  if (view.size() < kEntryStart) return Step{.needed = kEntryStart};
  const auto header = read_entry_header_size(view, at_);
  if (!header) return tl::unexpected(header.error());
  if (*header > left) return malformed("header length of a fatbin entry", at_ + 4);
  if (view.size() < *header) return Step{.needed = *header};
  auto entry = read_entry(view.first(*header), at_);
  if (!entry) return tl::unexpected(entry.error());
  if (entry->size > left - *header) return malformed("size of a fatbin entry", at_ + 8);
  const std::uint64_t whole = *header + entry->size;
  inside_ = whole < left;
  ++entries_;
  option_bytes_ += entry->options.size();
  container.entries.push_back(std::move(*entry));
  return Step{.consumed = whole};
}

/// What looked like a container was none: the search goes on behind what was read of it.
FatbinScanner::Step FatbinScanner::give_up() {
  ++doubtful_;
  if (!inside_) return {.consumed = std::min(kAlignment, end_ - at_)};
  inside_ = false;
  containers_.pop_back();
  const std::uint64_t misaligned = (at_ - begin_) % kAlignment;
  return {.consumed = misaligned == 0 ? 0 : std::min(kAlignment - misaligned, end_ - at_)};
}

Result<std::vector<FatbinContainer>> FatbinScanner::finish() {
  if (at_ < end_) return malformed("fatbin cut short", at_);
  return std::move(containers_);
}

Result<std::vector<FatbinContainer>> read_fatbins(const Source& source, std::uint64_t begin, std::uint64_t size) {
  if (!within(begin, size, source.size())) return malformed("fatbin section outside the file", begin);
  FatbinScanner scanner(begin, begin + size, FatbinScanner::Mode::kSection);
  std::array<std::byte, kReadAhead> ahead{};
  while (scanner.wanted() < begin + size) {
    const std::uint64_t at = scanner.wanted();
    const auto chunk =
        std::span(ahead).first(static_cast<std::size_t>(std::min<std::uint64_t>(kReadAhead, begin + size - at)));
    if (!source.read(at, chunk)) return malformed("fatbin section cannot be read", at);
    if (auto fed = scanner.feed(at, chunk); !fed) return tl::unexpected(fed.error());
  }
  return scanner.finish();
}

}  // namespace flashfit::doctor
