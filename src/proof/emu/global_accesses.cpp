#include "proof/emu/global_accesses.hpp"

#include <algorithm>
#include <span>

namespace flashfit::emu {

GlobalAccesses::Page& GlobalAccesses::page(std::uintptr_t number) {
  if (last_ != nullptr && last_number_ == number) return *last_;
  std::unique_ptr<Page>& page = pages_[number];
  if (page == nullptr) page = std::make_unique<Page>();
  last_number_ = number;
  return *(last_ = page.get());
}

void GlobalAccesses::append(Page& page, Granule& granule, const Record& record) {
  if (granule.spilled == 0 && granule.count < Granule::kHere) {
    granule.here[granule.count++] = record;
    return;
  }
  if (granule.spilled == 0) {
    page.spilled.emplace_back(granule.here, granule.here + granule.count);
    granule.spilled = static_cast<std::uint16_t>(page.spilled.size());
  }
  std::vector<Record>& all = page.spilled[granule.spilled - 1u];
  all.resize(granule.count);
  if (all.size() == kMostRecords) {
    const auto old =
        std::find_if(all.begin(), all.end(), [](const Record& r) { return r.kind != GlobalAccess::kWrite; });
    all.erase(old == all.end() ? all.begin() : old);
  }
  all.push_back(record);
  granule.count = static_cast<std::uint16_t>(all.size());
}

/// The record that conflicts, or none: then `now` is entered.
std::optional<GlobalAccesses::Record> GlobalAccesses::enter(Page& page, Granule& granule, const Record& now,
                                                            const Knowledge& knows, Lacks& lacks) {
  const std::span<Record> records{granule.spilled == 0 ? granule.here : page.spilled[granule.spilled - 1u].data(),
                                  granule.count};
  const auto reached = [&](const Clock& clock, const Record& r) {
    const Moment done{r.agent, r.epoch};
    return r.cluster == now.cluster ? clock.reached(done) : clock.abroad().reached(r.cluster, done);
  };
  // Atomic operations on a place are in one order. Who comes after one of them comes, at that place, after those before
  // it too: the last block may set the counter back by a plain store.
  const auto is_behind = [&](std::size_t i) {
    const std::uint16_t bytes = records[i].bytes & now.bytes;
    return is_atomic(records[i].kind) && std::ranges::any_of(records.subspan(i + 1), [&](const Record& later) {
             return later.kind == GlobalAccess::kAtomic && (later.bytes & bytes) == bytes && reached(knows.seen, later);
           });
  };
  std::uint16_t kept = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record r = records[i];
    auto left = r.bytes;
    if ((r.bytes & now.bytes) != 0 && conflict(r.kind, now.kind)) {
      if (!reached(knows.seen, r) && !is_behind(i)) return lacks = Lacks::kOrder, r;
      if (!only_reads(r.kind) && now.proxy == Proxy::kAsync && r.proxy == Proxy::kGeneric &&
          !reached(knows.fenced_global, r))
        return lacks = Lacks::kFence, r;
      if ((r.kind == GlobalAccess::kReadOnly || now.kind == GlobalAccess::kReadOnly) &&
          !knows.seen.abroad().knows_all_of(r.cluster))
        return lacks = Lacks::kConstancy, r;
      if (now.kind == GlobalAccess::kWrite) left &= static_cast<std::uint16_t>(~now.bytes);
    } else if (r.kind == now.kind && r.by_same(now)) {
      left &= static_cast<std::uint16_t>(~now.bytes);  // the new one stands for it
    }
    if (left == 0) continue;
    records[kept] = r;
    records[kept++].bytes = left;
  }
  granule.count = kept;
  append(page, granule, now);
  return std::nullopt;
}

std::optional<GlobalAccesses::Conflict> GlobalAccesses::access(std::uintptr_t address, std::size_t bytes,
                                                               GlobalAccess kind, const Who& by,
                                                               const Knowledge& knows) {
  const std::lock_guard lock(mutex_);
  Record now{
      .epoch = by.done.epoch,
      .cluster = by.cluster,
      .agent = by.done.agent,
      .thread = static_cast<std::uint16_t>(by.thread),
      .bytes = 0,
      .instruction = static_cast<std::uint16_t>(instructions_.number_of(by.instruction.what, by.instruction.site)),
      .kind = kind,
      .proxy = by.proxy};
  const std::uintptr_t end = address + bytes;
  for (std::uintptr_t g = address / kGranule; g * kGranule < end; ++g) {
    const std::uintptr_t first = std::max(address, g * kGranule) - g * kGranule;
    const std::uintptr_t last = std::min<std::uintptr_t>(end - g * kGranule, kGranule);
    now.bytes = static_cast<std::uint16_t>((1u << last) - (1u << first));
    Page& p = page(g / kPageGranules);
    Lacks lacks{};
    if (const auto r = enter(p, p.granules[g % kPageGranules], now, knows, lacks))
      return Conflict{
          {r->cluster, r->thread, {r->agent, r->epoch}, r->proxy, instructions_[r->instruction]}, r->kind, lacks};
  }
  return std::nullopt;
}

}  // namespace flashfit::emu
