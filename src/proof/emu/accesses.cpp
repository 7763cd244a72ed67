#include "proof/emu/accesses.hpp"

#include <algorithm>

namespace flashfit::emu {

std::uint32_t Instructions::find(const char* what, const Site& site) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Instruction& i) { return is(i, what, site); });
  const auto number = static_cast<std::uint32_t>(found - all_.begin());
  if (found == all_.end()) all_.push_back({what, site});
  return number;
}

void Accesses::clear() {
  for (Granule& granule : granules_) granule.count = granule.spilled = 0;
  spilled_.clear();
}

inline void Accesses::append(Granule& granule, Record record) {
  if (granule.spilled == 0 && granule.count < kHere)
    granule.here[granule.count++] = record;
  else
    spill(granule, record);
}

void Accesses::spill(Granule& granule, Record record) {
  if (granule.spilled == 0) {
    spilled_.emplace_back(granule.here, granule.here + granule.count);
    granule.spilled = static_cast<std::uint16_t>(spilled_.size());
  }
  std::vector<Record>& all = spilled_[granule.spilled - 1u];
  all.resize(granule.count);
  all.push_back(record);
  ++granule.count;
}

template <class Each>
inline std::optional<Accesses::Conflict> Accesses::over(std::size_t offset, std::size_t bytes, Record by, Each each) {
  const std::size_t end = offset + bytes;
  for (std::size_t g = offset / kGranule; g * kGranule < end; ++g) {
    const std::size_t first = std::max(offset, g * kGranule) - g * kGranule;
    const std::size_t last = std::min(end - g * kGranule, kGranule);
    if (auto conflict = each(granules_[g], by.with((1u << last) - (1u << first)))) return conflict;
  }
  return std::nullopt;
}

/// Atomic operations on a place are in one order: who comes after one of them comes, at that place, after those before
/// it too. Whether record i is such a one for somebody who knows `knows` and does something to `bytes`.
bool Accesses::is_behind(std::span<const Record> records, std::size_t i, std::uint32_t bytes, const Knowledge& knows) {
  bytes &= records[i].bytes();
  return records[i].atomic() && std::ranges::any_of(records.subspan(i + 1), [&](const Record& later) {
           return later.atomic() && later.write() && (later.bytes() & bytes) == bytes &&
                  knows.seen.reached(later.done());
         });
}

std::optional<Accesses::Conflict> Accesses::read(std::size_t offset, std::size_t bytes, const AccessRecord& by,
                                                 const Knowledge& knows) {
  return over(offset, bytes, {by, false}, [&](Granule& granule, Record now) -> std::optional<Conflict> {
    std::uint32_t written = 0, kept = 0;
    const std::span<Record> records = this->records(granule);
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      const Record& r = records[i];
      if (r.write()) {
        written |= r.bytes();
        if ((r.bytes() & now.bytes()) != 0 && !(r.atomic() && now.atomic())) {
          if (!knows.seen.reached(r.done()) && !is_behind(records, i, now.bytes(), knows))
            return Conflict{r.whole(), true, false};
          if (now.async() && !r.async() && !knows.fenced.reached(r.done())) return Conflict{r.whole(), true, true};
        }
      } else if (r.agent() == now.agent() && (r.bytes() & ~now.bytes()) == 0 && (r.atomic() || !now.atomic())) {
        continue;  // the new one stands for it
      }
      if (kept != i) records[kept] = r;
      ++kept;
    }
    granule.count = static_cast<std::uint16_t>(kept);
    append(granule, now);
    if (now.async() && (now.bytes() & ~written) != 0) return Conflict{by, false, false, true};
    return std::nullopt;
  });
}

std::optional<Accesses::Conflict> Accesses::write(std::size_t offset, std::size_t bytes, const AccessRecord& by,
                                                  const Knowledge& knows) {
  return over(offset, bytes, {by, true}, [&](Granule& granule, Record now) -> std::optional<Conflict> {
    std::uint16_t kept = 0;
    const std::span<Record> records = this->records(granule);
    for (std::size_t i = 0; i < records.size(); ++i) {
      const Record r = records[i];
      std::uint32_t left = r.bytes();
      if ((left & now.bytes()) != 0) {
        const bool both_atomic = r.atomic() && now.atomic();
        if (!both_atomic) {
          if (!knows.seen.reached(r.done()) && !is_behind(records, i, now.bytes(), knows))
            return Conflict{r.whole(), r.write(), false};
          if (r.write() && now.async() && !r.async() && !knows.fenced.reached(r.done()))
            return Conflict{r.whole(), true, true};
        }
        // An atomic write stands for what the same agent did so, and for no plain access: atomic ones of others need no
        // order after it, but after that.
        if (both_atomic ? r.agent() == now.agent() : !now.atomic()) left &= ~now.bytes();
        if (left == 0) continue;
      }
      records[kept++] = r.with(left);
    }
    granule.count = kept;
    append(granule, now);
    return std::nullopt;
  });
}

}  // namespace flashfit::emu
