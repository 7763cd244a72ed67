#include "emu/accesses.hpp"

#include <algorithm>

namespace flashfit::emu {
namespace {

/// Why whoever knows `knows` may not touch what `earlier` wrote.
std::optional<Accesses::Conflict> unknown_write(const std::vector<AccessRecord>& writes, std::uint16_t mask,
                                                Proxy proxy, const Knowledge& knows) {
  for (const AccessRecord& w : writes) {
    if ((w.bytes & mask) == 0) continue;
    if (!knows.seen.reached(w.done)) return Accesses::Conflict{w, true, false};
    if (proxy == Proxy::kAsync && w.proxy == Proxy::kGeneric && !knows.fenced.reached(w.done))
      return Accesses::Conflict{w, true, true};
  }
  return std::nullopt;
}

void strip(std::vector<AccessRecord>& records, std::uint16_t mask) {
  for (AccessRecord& r : records) r.bytes = static_cast<std::uint16_t>(r.bytes & ~mask);
  std::erase_if(records, [](const AccessRecord& r) { return r.bytes == 0; });
}

}  // namespace

template <class Granules, class Each>
std::optional<Accesses::Conflict> Accesses::over(Granules& granules, std::size_t offset, std::size_t bytes, Each each) {
  const std::size_t end = offset + bytes;
  for (std::size_t g = offset / kGranule; g * kGranule < end; ++g) {
    const std::size_t first = std::max(offset, g * kGranule) - g * kGranule;
    const std::size_t last = std::min(end - g * kGranule, kGranule);
    const auto mask = static_cast<std::uint16_t>((1u << last) - (1u << first));
    if (auto conflict = each(granules[g], mask)) return conflict;
  }
  return std::nullopt;
}

std::optional<Accesses::Conflict> Accesses::read(std::size_t offset, std::size_t bytes, AccessRecord by,
                                                 const Knowledge& knows) {
  return over(granules_, offset, bytes, [&](Granule& granule, std::uint16_t mask) {
    auto conflict = unknown_write(granule.writes, mask, by.proxy, knows);
    if (conflict) return conflict;
    // A later read of the same bytes by the same agent stands for the
    // earlier one.
    std::erase_if(granule.reads,
                  [&](const AccessRecord& r) { return r.done.agent == by.done.agent && (r.bytes & ~mask) == 0; });
    by.bytes = mask;
    granule.reads.push_back(by);
    std::uint16_t written = 0;
    for (const AccessRecord& w : granule.writes) written = static_cast<std::uint16_t>(written | w.bytes);
    if (by.proxy == Proxy::kAsync && (mask & ~written) != 0) conflict = Conflict{by, false, false, true};
    return conflict;
  });
}

std::optional<Accesses::Conflict> Accesses::write(std::size_t offset, std::size_t bytes, AccessRecord by,
                                                  const Knowledge& knows) {
  return over(granules_, offset, bytes, [&](Granule& granule, std::uint16_t mask) {
    auto conflict = unknown_write(granule.writes, mask, by.proxy, knows);
    for (const AccessRecord& r : granule.reads)
      if (!conflict && (r.bytes & mask) != 0 && !knows.seen.reached(r.done)) conflict = Conflict{r, false, false};
    if (conflict) return conflict;
    strip(granule.writes, mask);
    strip(granule.reads, mask);
    by.bytes = mask;
    granule.writes.push_back(by);
    return conflict;
  });
}

std::optional<Accesses::Conflict> Accesses::would_read(std::size_t offset, std::size_t bytes, Proxy proxy,
                                                       const Knowledge& knows) const {
  return over(granules_, offset, bytes, [&](const Granule& granule, std::uint16_t mask) {
    return unknown_write(granule.writes, mask, proxy, knows);
  });
}

}  // namespace flashfit::emu
