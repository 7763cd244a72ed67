#include "proof/emu/banks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "proof/emu/thread_sanitizer.hpp"

namespace flashfit::emu {
namespace {

constexpr int kLanes = 32, kBanks = 32, kBankBytes = 4;

/// Wavefronts of one phase: the most different words in one bank.
int wavefronts(std::span<const std::int32_t> offsets, int bytes) {
  int most = 0;
  std::int32_t words[kBanks][kLanes];
  int count[kBanks] = {};
  for (const std::int32_t offset : offsets) {
    if (offset < 0) continue;
    for (std::int32_t word = offset / kBankBytes; word * kBankBytes < offset + bytes; ++word) {
      const int bank = word % kBanks;
      if (std::find(words[bank], words[bank] + count[bank], word) != words[bank] + count[bank]) continue;
      words[bank][count[bank]++] = word;
      most = std::max(most, count[bank]);
    }
  }
  return most;
}

/// Whether the 16-byte parts that a quarter warp accesses lie in eight different groups of four banks.
bool all_groups_differ(std::span<const std::int32_t> offsets) {
  unsigned groups = 0;
  for (const std::int32_t offset : offsets) groups |= 1u << (offset >> 4 & 7);
  return groups == 0xff;
}

}  // namespace

int bank_conflicts(std::span<const std::int32_t> offsets, int bytes) {
  const std::size_t lanes = bytes <= 4 ? kLanes : bytes <= 8 ? kLanes / 2 : kLanes / 4;
  int conflicts = 0;
  for (std::size_t first = 0; first < offsets.size(); first += lanes) {
    const auto phase = offsets.subspan(first, std::min(lanes, offsets.size() - first));
    if (bytes == 16 && phase.size() == lanes && all_groups_differ(phase)) continue;
    conflicts += std::max(wavefronts(phase, bytes) - 1, 0);
  }
  return conflicts;
}

int BankConflicts::add(const char* instruction, Site site, std::span<const std::int32_t> offsets, int bytes) {
  const int conflicts = bank_conflicts(offsets, bytes);
  if (conflicts == 0) return 0;
  for (Line& line : lines_)
    if (line.instruction == instruction && line.site == site) {
      line.conflicts += static_cast<std::uint64_t>(conflicts);
      return conflicts;
    }
  lines_.push_back({instruction, site, static_cast<std::uint64_t>(conflicts)});
  return conflicts;
}

void BankConflicts::add_lane(int warp, int lane, const LaneAccess& access, std::int32_t offset) {
  if (tsan::on()) return;  // its lists grow under several fibres, each of which ThreadSanitizer takes for a thread
  pending_[static_cast<std::size_t>(warp)] = 1;
  std::vector<Shares>& all = warps_[static_cast<std::size_t>(warp)];
  auto shares = std::find_if(all.begin(), all.end(), [&](const Shares& s) {
    return s.access.instruction == access.instruction && s.access.bytes == access.bytes && s.access.site == access.site;
  });
  if (shares == all.end()) {
    all.push_back({access});
    shares = all.end() - 1;
  }
  const auto turn = static_cast<std::size_t>(shares->done[lane]++);
  if (turn * kLanes >= shares->offsets.size()) shares->offsets.resize((turn + 1) * kLanes, -1);
  shares->offsets[turn * kLanes + static_cast<std::size_t>(lane)] = offset;
}

void BankConflicts::count_pending(int warp, Stats& stats) {
  pending_[static_cast<std::size_t>(warp)] = 0;
  for (Shares& s : warps_[static_cast<std::size_t>(warp)]) {
    for (std::size_t i = 0; i < s.offsets.size(); i += kLanes)
      stats.*s.access.counter += static_cast<std::uint64_t>(
          add(s.access.instruction, s.access.site, std::span(s.offsets).subspan(i, kLanes), s.access.bytes));
    s.offsets.clear();
    std::fill(std::begin(s.done), std::end(s.done), 0);
  }
}

std::string BankConflicts::worst() const {
  const auto most = std::max_element(lines_.begin(), lines_.end(),
                                     [](const Line& a, const Line& b) { return a.conflicts < b.conflicts; });
  if (most == lines_.end()) return {};
  const std::string_view path = most->site.file;
  return fmt::format("{} at {}:{}: {}", most->instruction, path.substr(path.rfind('/') + 1), most->site.line,
                     most->conflicts);
}

}  // namespace flashfit::emu
