// Bulk and tensor copies (PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.tensor"): the emulator's
// engines (proof/emu/bulk_copies.hpp, proof/emu/tensor_copies.hpp), started by each lane that runs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/half.hpp"
#include "proof/emu/atomic_add.hpp"
#include "proof/emu/tensor_copies.hpp"
#include "proof/emu/tensor_map.hpp"
#include "proof/ptx/block.hpp"
#include "proof/ptx/lanes.hpp"

namespace flashfit::ptx {
namespace {

constexpr int kMostRank = 5;

/// The slot of an address, its offset and its width, as three words of Instruction::r. The offset is kept positive, and
/// small enough to be taken for no slot of a register while those are still moved.
constexpr std::int64_t kBias = 1 << 29;
std::vector<std::uint32_t> words(Decoder& d, const Decoder::Address& a) {
  if (a.offset < -kBias || a.offset >= kBias) d.refuse("an offset of more than 29 bits");
  return {a.slot, static_cast<std::uint32_t>(a.offset + kBias), static_cast<std::uint32_t>(a.bits)};
}
std::uint64_t address_at(const Warp& w, const std::uint32_t* words, int lane) {
  const auto offset = static_cast<std::int32_t>(words[1] - static_cast<std::uint32_t>(kBias));
  if (words[2] == 32) return w.at<std::uint32_t>(words[0])[lane] + static_cast<std::uint32_t>(offset);
  return w.at<std::uint64_t>(words[0])[lane] + static_cast<std::uint64_t>(std::int64_t{offset});
}

/// A copy into shared memory: where to, whom it tells, and which blocks get it (0: the thread's own).
struct Destination {
  std::uintptr_t to, barrier;
  std::uint32_t blocks;
};
/// `words`: of the destination and the barrier; `mask`: of the blocks' slot, or 0.
Destination destination(const Warp& w, const Instruction& i, const std::uint32_t* words, std::uint32_t mask, int lane) {
  Block& block = w.block();
  const char* const name = block.name_of(i);
  const std::uint64_t to = address_at(w, words, lane), barrier = address_at(w, words + 3, lane);
  const auto own = static_cast<std::uint64_t>(block.machine().block_in_cluster());
  const auto block_of = [own](std::uint64_t address) {
    const std::uint64_t number = address / (Program::kPlaceMask + 1);
    return number == 0 ? own : number - 1;
  };
  std::uint32_t blocks = mask != 0 ? w.at<std::uint16_t>(mask)[lane] : 0;
  if (blocks == 0 && block_of(to) != own) {
    if (block_of(to) >= emu::Machine::kMaxCluster)
      block.stop(lane, i, fmt::format("{} to {:#x}, which is no address", name, to));
    blocks = 1u << block_of(to);
  }
  if (block_of(barrier) != block_of(to))
    block.stop(lane, i,
               fmt::format("{} to block {} of the cluster tells an mbarrier of block {}", name, block_of(to),
                           block_of(barrier)));
  return {block.shared_place(lane, i, to & Program::kPlaceMask, 16, name),
          block.shared_place(lane, i, barrier & Program::kPlaceMask, emu::MBarriers::kBytes, name), blocks};
}

// Plain ranges.
/// r = {destination x 3, barrier x 3, source x 3, bytes, blocks or 0}.
void load(Warp& w, const Instruction& i) {
  for_each_speaker(w, [&](emu::Machine& machine, int lane) {
    const emu::Site& site = w.block().place_of(i);
    const auto bytes = static_cast<std::size_t>(w.at<std::uint32_t>(i.r[9])[lane]);
    const std::uint64_t from = address_at(w, i.r + 6, lane);
    const auto [to, barrier, blocks] = destination(w, i, i.r, i.r[10], lane);
    machine.check_global(from, bytes, 16, emu::Access::kRead, site);
    emu::BulkCopies::load(
        machine,
        {w.block().name_of(i), to, bytes, barrier, blocks,
         [from, bytes](std::byte* at) { std::memcpy(at, reinterpret_cast<const void*>(from), bytes); },
         machine.watched(from, bytes)},
        site);
  });
}

/// Of this block's shared memory to a block of the cluster. r = {destination x 3, barrier x 3, source x 3, bytes}.
void send(Warp& w, const Instruction& i) {
  for_each_speaker(w, [&](emu::Machine& machine, int lane) {
    const auto bytes = static_cast<std::size_t>(w.at<std::uint32_t>(i.r[9])[lane]);
    const auto [to, barrier, blocks] = destination(w, i, i.r, 0, lane);
    const std::uintptr_t from = w.block().shared_place(lane, i, address_at(w, i.r + 6, lane) & Program::kPlaceMask,
                                                       std::min<std::size_t>(bytes, 16), w.block().name_of(i));
    emu::BulkCopies::send(machine, to, from, bytes, barrier,
                          blocks == 0 ? machine.block_in_cluster() : std::countr_zero(blocks), w.block().place_of(i));
  });
}

enum class Adds : int { kNothing, kF32, kF16, kBF16 };
void add(Adds type, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (type == Adds::kF32) emu::atomic_add<float>(to, from, bytes);
  if (type == Adds::kF16) emu::atomic_add<f16>(to, from, bytes);
  if (type == Adds::kBF16) emu::atomic_add<bf16>(to, from, bytes);
}
/// r = {destination x 3, source x 3, bytes}; extra: what is added.
void store(Warp& w, const Instruction& i) {
  for_each_speaker(w, [&](emu::Machine& machine, int lane) {
    const emu::Site& site = w.block().place_of(i);
    const auto bytes = static_cast<std::size_t>(w.at<std::uint32_t>(i.r[6])[lane]);
    const std::uint64_t to = address_at(w, i.r, lane);
    const auto adds = static_cast<Adds>(i.extra);
    const std::uintptr_t from = w.block().shared_place(lane, i, address_at(w, i.r + 3, lane),
                                                       std::min<std::size_t>(bytes, 16), w.block().name_of(i));
    machine.check_global(to, bytes, 16, emu::Access::kWrite, site);
    if (adds == Adds::kNothing) emu::SharedMemory::poison(reinterpret_cast<std::byte*>(to), bytes);
    machine.engines().bulk.store(
        machine,
        {w.block().name_of(i), from, bytes,
         [to, bytes, adds](const std::byte* image) {
           auto* const at = reinterpret_cast<std::byte*>(to);
           if (adds == Adds::kNothing)
             std::memcpy(at, image, bytes);
           else
             add(adds, at, image, bytes);
         },
         machine.watched(to, bytes), adds == Adds::kNothing ? emu::GlobalAccess::kWrite : emu::GlobalAccess::kAdd},
        site);
  });
}
void commit(Warp& w, const Instruction&) {
  for_each_speaker(w, [](emu::Machine& machine, int) { machine.engines().bulk.commit(machine); });
}
/// imm: groups that may be left; extra: whether it is enough that they have read.
void wait(Warp& w, const Instruction& i) {
  for_each_speaker(w, [&](emu::Machine& machine, int) {
    machine.engines().bulk.wait(machine, static_cast<int>(i.imm), i.extra != 0, w.block().place_of(i));
  });
}

// Boxes of tensors.
/// The map that an address names, and the box's first element.
struct Box {
  const TensorMap* map;
  int at[kMostRank];
  std::size_t element_bytes;
};
Box box(const Warp& w, const std::uint32_t* map, const std::uint32_t* coordinates, int rank, int lane) {
  Box b{};
  const std::uintptr_t address = w.block().global_place(address_at(w, map, lane));
  b.map = reinterpret_cast<const TensorMap*>(address);
  for (int d = 0; d < rank; ++d) b.at[d] = w.at<std::int32_t>(coordinates[d])[lane];
  // The instruction does not say what the elements are. What is no map is the emulator's to find.
  b.element_bytes = 2;
  if (w.block().machine().in_params_or_global(address, sizeof(TensorMap))) {
    TensorMap copy;
    std::memcpy(static_cast<void*>(&copy), reinterpret_cast<const void*>(address), sizeof copy);
    if (const auto spec = emu::decode_tensor_map(copy))
      b.element_bytes = static_cast<std::size_t>(size_of(spec->dtype));
  }
  return b;
}
/// r = {destination x 3, barrier x 3, map x 3, blocks or 0, coordinates ...}; extra: how many coordinates.
void load_tensor(Warp& w, const Instruction& i) {
  for_each_speaker(w, [&](emu::Machine&, int lane) {
    const Box b = box(w, i.r + 6, i.r + 10, i.extra, lane);
    const auto [to, barrier, blocks] = destination(w, i, i.r, i.r[9], lane);
    emu::load_box({w.block().name_of(i),
                   b.map,
                   {b.at, static_cast<std::size_t>(i.extra)},
                   to,
                   b.element_bytes,
                   w.block().place_of(i)},
                  barrier, blocks);
  });
}
/// r = {map x 3, source x 3, coordinates ...}; extra: how many coordinates; imm: whether it adds.
void store_tensor(Warp& w, const Instruction& i) {
  for_each_speaker(w, [&](emu::Machine&, int lane) {
    const Box b = box(w, i.r, i.r + 6, i.extra, lane);
    const std::uintptr_t from = w.block().shared_place(lane, i, address_at(w, i.r + 3, lane), 16, w.block().name_of(i));
    emu::store_box({w.block().name_of(i),
                    b.map,
                    {b.at, static_cast<std::size_t>(i.extra)},
                    from,
                    b.element_bytes,
                    w.block().place_of(i)},
                   i.imm != 0);
  });
}
/// r = {map x 3}.
void prefetch_map(Warp& w, const Instruction& i) {
  for_each_speaker(w, [&](emu::Machine&, int lane) {
    emu::prefetch_map(*reinterpret_cast<const TensorMap*>(w.block().global_place(address_at(w, i.r, lane))),
                      w.block().place_of(i));
  });
}

// The statements.
void append(std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// After what is copied: ".multicast::cluster" and a policy of the cache.
bool take_multicast(Decoder& d) {
  const bool multicast = d.take("multicast::cluster");
  if (d.take("L2::cache_hint")) d.has_cache_policy();
  return multicast;
}

void tensor(Decoder& d, bool adds) {
  int rank = 0;
  for (const std::string_view name : {"1d", "2d", "3d", "4d", "5d"}) {
    ++rank;
    if (d.take(name)) break;
    if (rank == kMostRank) d.refuse("'.1d' to '.5d' is needed");
  }
  const auto coordinates = static_cast<std::size_t>(rank);
  const auto add_coordinates = [&](std::vector<std::uint32_t>& slots, const Operand& map) {
    for (const Operand& c : map.parts) slots.push_back(d.source(c, 32));
  };
  if (!adds && d.take_any({"shared::cluster", "shared::cta"})) {
    if (!d.take("global")) d.refuse("'.global' is needed");
    d.take("tile");
    if (!d.take("mbarrier::complete_tx::bytes")) d.refuse("'.tile.mbarrier::complete_tx::bytes' is needed");
    const bool multicast = take_multicast(d);
    d.expect_operands(3 + (multicast ? 1 : 0) + (d.caches() ? 1 : 0));
    std::vector<std::uint32_t> slots = words(d, d.address(d.operand(0), Space::kShared));
    append(slots, words(d, d.address(d.operand(2), Space::kShared)));
    append(slots, words(d, d.address(d.operand(1), Space::kGeneric, coordinates)));
    slots.push_back(multicast ? d.source(3, 16) : 0);
    add_coordinates(slots, d.operand(1));
    Instruction& i = d.emit(&load_tensor, std::move(slots));
    i.extra = rank;
    d.names_access(i, "cp.async.bulk.tensor");
    return;
  }
  if (!d.take("global") || !d.take("shared::cta")) d.refuse("'.global.shared::cta' is needed");
  if (adds && !d.take("add")) d.refuse("'.add' is known");
  d.take("tile");
  if (!d.take("bulk_group")) d.refuse("'.bulk_group' is needed");
  take_multicast(d);
  d.expect_operands(2 + (d.caches() ? 1 : 0));
  std::vector<std::uint32_t> slots = words(d, d.address(d.operand(0), Space::kGeneric, coordinates));
  append(slots, words(d, d.address(d.operand(1), Space::kShared)));
  add_coordinates(slots, d.operand(0));
  Instruction& i = d.emit(&store_tensor, std::move(slots));
  i.extra = rank;
  i.imm = adds ? 1 : 0;
  d.names_access(i, adds ? "cp.reduce.async.bulk.tensor" : "cp.async.bulk.tensor");
}

void plain(Decoder& d, bool adds) {
  if (!adds && d.take_any({"shared::cluster", "shared::cta"})) {
    const bool sends = d.take("shared::cta");
    if ((!sends && !d.take("global")) || !d.take("mbarrier::complete_tx::bytes"))
      d.refuse("'.global' or '.shared::cta', and '.mbarrier::complete_tx::bytes' are needed");
    const bool multicast = !sends && take_multicast(d);
    d.expect_operands(4 + (multicast ? 1 : 0) + (d.caches() ? 1 : 0));
    std::vector<std::uint32_t> slots = words(d, d.address(d.operand(0), Space::kShared));
    append(slots, words(d, d.address(d.operand(3), Space::kShared)));
    append(slots, words(d, d.address(d.operand(1), sends ? Space::kShared : Space::kGlobal)));
    slots.push_back(d.source(2, 32));
    slots.push_back(multicast ? d.source(4, 16) : 0);
    d.names_access(d.emit(sends ? &send : &load, std::move(slots)), "cp.async.bulk");
    return;
  }
  if (!d.take("global") || !d.take("shared::cta") || !d.take("bulk_group"))
    d.refuse("'.global.shared::cta.bulk_group' is needed");
  Adds what = Adds::kNothing;
  if (d.take("L2::cache_hint")) d.has_cache_policy();
  if (adds) {
    if (!d.take("add")) d.refuse("'.add' is known");
    d.take("noftz");
    const Type t = d.take_type();
    what = t == Type::kF32    ? Adds::kF32
           : t == Type::kF16  ? Adds::kF16
           : t == Type::kBF16 ? Adds::kBF16
                              : (d.refuse("not known for this type"), Adds::kNothing);
  }
  d.expect_operands(3 + (d.caches() ? 1 : 0));
  std::vector<std::uint32_t> slots = words(d, d.address(d.operand(0), Space::kGlobal));
  append(slots, words(d, d.address(d.operand(1), Space::kShared)));
  slots.push_back(d.source(2, 32));
  Instruction& i = d.emit(&store, std::move(slots));
  i.extra = static_cast<int>(what);
  d.names_access(i, adds ? "cp.reduce.async.bulk" : "cp.async.bulk");
}

void bulk(Decoder& d) {
  if (d.take("commit_group")) {
    d.expect_operands(0);
    d.emit(&commit, {});
    return;
  }
  if (d.take("wait_group")) {
    const bool read = d.take("read");
    d.expect_operands(1);
    const std::uint64_t pending = d.immediate(d.operand(0));
    Instruction& i = d.emit(&wait, {});
    i.imm = static_cast<std::int64_t>(std::min<std::uint64_t>(pending, 1 << 20));
    i.extra = read ? 1 : 0;
    return;
  }
  if (d.take("tensor")) return tensor(d, false);
  plain(d, false);
}

void nothing(Warp&, const Instruction&) {}

void prefetch(Decoder& d) {
  if (d.take("tensormap") || (d.take_any({"param", "const"}) && d.take("tensormap"))) {
    d.expect_operands(1);
    d.emit(&prefetch_map, words(d, d.address(d.operand(0), Space::kGeneric)));
    return;
  }
  d.take_any({"global", "local"});
  if (!d.take_any({"L1", "L2", "L2::evict_last", "L2::evict_normal"})) d.refuse("'.L1' or '.L2' is needed");
  d.expect_operands(1);
  d.emit(&nothing, {});
}

}  // namespace

bool decode_bulk(Decoder& d, std::string_view base) {
  if (base == "cp") {
    const bool adds = d.take("reduce");
    if (!d.take("async")) d.refuse("'.async' is needed");
    if (d.take("bulk")) {
      if (!adds) return bulk(d), true;
      if (d.take("tensor")) return tensor(d, true), true;
      return plain(d, true), true;
    }
    if (adds) d.refuse("'.bulk' is needed");
    return decode_copy(d), true;
  }
  if (base == "prefetch" || base == "prefetchu") return prefetch(d), true;
  return false;
}

}  // namespace flashfit::ptx
