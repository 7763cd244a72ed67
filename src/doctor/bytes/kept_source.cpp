#include "doctor/bytes/kept_source.hpp"

#include <algorithm>

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kMostKept = std::uint64_t{128} << 20;  // of which TensorFlow's largest library takes 106
/// Around what was missed: tables lie close together.
constexpr std::uint64_t kMargin = std::uint64_t{64} << 10;

}  // namespace

bool KeptSource::read(std::uint64_t at, std::span<std::byte> into) const {
  if (!within(at, into.size(), size_)) return false;
  if (into.empty()) return true;
  for (const Part& p : parts_) {
    if (at < p.begin || at + into.size() > p.end) continue;
    const auto from = part(p.bytes, at - p.begin, into.size());
    if (!from) return false;
    std::copy(from->begin(), from->end(), into.begin());
    return true;
  }
  missed_.push_back({at, at + into.size()});
  return false;
}

void KeptSource::want(std::uint64_t at, std::uint64_t size) {
  at = std::min(at, size_);
  std::vector<Range> ranges{{at, at + std::min(size, size_ - at)}};
  for (const Part& p : parts_) ranges.push_back({p.begin, p.end});
  merge(std::move(ranges));
}

void KeptSource::want_ahead(std::uint64_t at, std::uint64_t size) {
  at = std::min(at, size_);
  Part added{at, at + std::min(size, size_ - at), {}};
  // What has not begun grows; what has begun stays as it is, and ends before the new part.
  std::erase_if(parts_, [&](const Part& p) {
    const bool joins = p.bytes.empty() && p.begin <= added.end && added.begin <= p.end;
    if (joins) added = {std::min(added.begin, p.begin), std::max(added.end, p.end), {}};
    return joins;
  });
  for (const Part& p : parts_)
    if (p.begin < added.end && added.begin < p.end) added.begin = p.end;
  if (added.begin >= added.end) return;
  const auto behind = std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) { return p.begin > added.begin; });
  parts_.insert(behind, std::move(added));
}

void KeptSource::merge(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  parts_.clear();
  for (const Range& range : ranges) {
    if (range.begin == range.end) continue;
    if (!parts_.empty() && range.begin <= parts_.back().end) {
      parts_.back().end = std::max(parts_.back().end, range.end);
    } else {
      parts_.push_back({range.begin, range.end, {}});
    }
  }
  missed_.clear();
}

void KeptSource::feed(std::uint64_t at, Bytes chunk) {
  for (Part& p : parts_) {
    const std::uint64_t begin = std::max(at, p.begin + p.bytes.size()), end = std::min(at + chunk.size(), p.end);
    if (begin >= end || begin != p.begin + p.bytes.size()) continue;
    if (p.bytes.empty()) p.bytes.reserve(static_cast<std::size_t>(p.end - p.begin));
    const Bytes piece = chunk.subspan(static_cast<std::size_t>(begin - at), static_cast<std::size_t>(end - begin));
    p.bytes.insert(p.bytes.end(), piece.begin(), piece.end());
  }
}

std::uint64_t KeptSource::wanted() const {
  std::uint64_t wanted = 0;
  for (const Part& p : parts_) wanted += p.end - p.begin;
  return wanted;
}

std::uint64_t KeptSource::end() const { return parts_.empty() ? 0 : parts_.back().end; }

Result<void> KeptSource::want_missed() {
  std::vector<Range> ranges;
  for (const Part& p : parts_) ranges.push_back({p.begin, p.end});
  for (const Range& m : missed_)
    ranges.push_back({m.begin - std::min(m.begin, kMargin), std::min(m.end + kMargin, size_)});
  const std::uint64_t at = missed_.empty() ? 0 : missed_.back().begin;
  merge(std::move(ranges));
  if (wanted() > kMostKept) return beyond("parts that must be kept", kMostKept, at);
  return {};
}

}  // namespace flashfit::doctor
