// Loads, stores, prefetches and cp.async (PTX ISA, "Data Movement and Conversion Instructions").
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "proof/emu/cache_hints.hpp"
#include "proof/emu/copies.hpp"
#include "proof/ptx/block.hpp"
#include "proof/ptx/lanes.hpp"

namespace flashfit::ptx {
namespace {

constexpr int kMostBytes = 16;  // of one lane's access

/// What an access is, packed into Instruction::extra.
struct Form {
  Space space;
  int bytes, count, register_bytes, address_bytes;  ///< bytes, register_bytes: of each of `count` elements
  bool sign;
  bool strong;  ///< in global and shared memory, others see it as one step, which orders so:
  arch::MemoryOrder order;

  std::int32_t packed() const {
    return static_cast<int>(space) | bytes << 4 | count << 8 | register_bytes << 12 | address_bytes << 16 | sign << 20 |
           strong << 21 | static_cast<int>(order) << 22;
  }
  static Form of(std::int32_t x) {
    return {static_cast<Space>(x & 15),
            x >> 4 & 15,
            x >> 8 & 15,
            x >> 12 & 15,
            x >> 16 & 15,
            (x >> 20 & 1) != 0,
            (x >> 21 & 1) != 0,
            static_cast<arch::MemoryOrder>(x >> 22 & 3)};
  }
};

std::uint64_t address_at(const Warp& w, std::uint32_t slot, int bytes, std::int64_t offset, int lane) {
  // 32-bit addresses wrap as their space does.
  if (bytes == 4) return w.at<std::uint32_t>(slot)[lane] + static_cast<std::uint32_t>(offset);
  return w.at<std::uint64_t>(slot)[lane] + static_cast<std::uint64_t>(offset);
}

std::uint64_t extended(std::uint64_t x, int bytes, bool sign) {
  const int unused = 64 - bytes * 8;
  return sign ? static_cast<std::uint64_t>(static_cast<std::int64_t>(x << unused) >> unused) : x;
}

/// Does `move` with the host address of an access that the lane may make.
template <class Move>
void move(Warp& w, const Instruction& i, const Form& f, int lane, bool is_load, Move move_bytes) {
  Block& block = w.block();
  const std::size_t bytes = static_cast<std::size_t>(f.bytes) * static_cast<std::size_t>(f.count);
  const std::uint64_t address = address_at(w, i.r[0], f.address_bytes, i.imm, lane);
  std::uint64_t own = address;
  const Space space = Block::space_of(f.space, own);
  if (!f.strong || (space != Space::kGlobal && space != Space::kShared))
    return move_bytes(
        block.resolve(w, lane, i, f.space, address, bytes, is_load ? emu::Access::kRead : emu::Access::kWrite));
  block.as_one_step(w, lane, i, space, own, bytes,
                    is_load ? emu::GlobalAccess::kAtomicRead : emu::GlobalAccess::kAtomicWrite, f.order,
                    [&](std::byte* at) {
                      move_bytes(at);
                      return is_load ? emu::Atomics::Did::kRead : emu::Atomics::Did::kStored;
                    });
}

/// r = {address, registers ...}; imm: the offset.
void load(Warp& w, const Instruction& i) {
  const Form f = Form::of(i.extra);
  Block& block = w.block();
  if (f.space == Space::kGlobal || f.space == Space::kGeneric)
    block.count(&emu::Stats::loads, static_cast<std::uint64_t>(std::popcount(w.mask())));
  for (const int l : Lanes(w.mask())) {
    move(w, i, f, l, true, [&](const std::byte* from) {
      for (int e = 0; e < f.count; ++e) {
        std::uint64_t x = 0;
        std::memcpy(&x, from + e * f.bytes, static_cast<std::size_t>(f.bytes));
        x = extended(x, f.bytes, f.sign);
        std::memcpy(w.at<std::byte>(i.r[1 + e]) + l * f.register_bytes, &x, static_cast<std::size_t>(f.register_bytes));
      }
    });
  }
  if (f.strong && w.asks_in_a_loop()) w.let_others_run();  // lanes of its own may bring about what it waits for
}

void store(Warp& w, const Instruction& i) {
  const Form f = Form::of(i.extra);
  Block& block = w.block();
  if (f.space == Space::kGlobal || f.space == Space::kGeneric)
    block.count(&emu::Stats::stores, static_cast<std::uint64_t>(std::popcount(w.mask())));
  for (const int l : Lanes(w.mask())) {
    move(w, i, f, l, false, [&](std::byte* to) {
      for (int e = 0; e < f.count; ++e)
        std::memcpy(to + e * f.bytes, w.at<std::byte>(i.r[1 + e]) + l * f.register_bytes,
                    static_cast<std::size_t>(f.bytes));
    });
  }
}

Space take_space(Decoder& d) {
  if (d.take("global")) return Space::kGlobal;
  if (d.take_any({"shared", "shared::cta", "shared::cluster"})) return Space::kShared;
  if (d.take("local")) return Space::kLocal;
  if (d.take_any({"param", "param::entry"})) return Space::kParam;
  if (d.take("const")) return Space::kConst;
  return Space::kGeneric;
}

/// The order of a strong access; none: a weak one.
std::optional<arch::MemoryOrder> take_order(Decoder& d) {
  if (d.take("volatile")) return arch::MemoryOrder::kRelaxed;
  if (d.take("weak")) return std::nullopt;
  d.take("mmio");
  const auto order = d.take_order();
  if (order && !d.take_any({"cta", "cluster", "gpu", "sys"})) d.refuse("a scope is needed");
  return order;
}

/// How caches treat an access is of no matter here.
void take_cache_hints(Decoder& d) {
  while (d.take_any({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "L1::evict_normal", "L1::evict_unchanged",
                     "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::evict_first", "L2::evict_last",
                     "L2::evict_normal", "L2::64B", "L2::128B", "L2::256B"}))
    continue;
  if (d.take("L2::cache_hint")) d.has_cache_policy();
}

void access(Decoder& d, bool is_load) {
  const auto order = take_order(d);
  const Space space = take_space(d);
  if (!is_load && (space == Space::kParam || space == Space::kConst)) d.refuse("this space is not written");
  take_cache_hints(d);
  const int count = d.take("v2") ? 2 : d.take("v4") ? 4 : 1;
  const Type t = d.take_type();
  d.expect_operands(2, 3);
  if (d.operand_count() == 3 && !d.caches()) d.refuse("3 operands, takes 2");
  if (bits_of(t) < 8) d.refuse("not known for this type");
  const Decoder::Address at = d.address(d.operand(is_load ? 1 : 0), space);
  const Operand& values = d.operand(is_load ? 0 : 1);
  const bool is_vector = values.kind == Operand::Kind::kVector;
  if (is_vector ? values.parts.size() != static_cast<std::size_t>(count) : count != 1)
    d.refuse(fmt::format("takes {} registers", count));
  const int bytes = bits_of(t) / 8;
  if (bytes * count > kMostBytes) d.refuse("moves more than 16 bytes");
  std::vector<std::uint32_t> slots = {at.slot};
  int register_bits = 0;
  for (int e = 0; e < count; ++e) {
    const Operand& v = is_vector ? values.parts[static_cast<std::size_t>(e)] : values;
    const int bits = v.kind == Operand::Kind::kRegister ? d.register_bits(v) : std::max(bits_of(t), 16);
    if (bits < bits_of(t) || (e != 0 && bits != register_bits)) d.refuse("a register of another width is needed");
    register_bits = bits;
    slots.push_back(is_load ? d.destination(v, bits) : d.source(v, bits));
  }
  Instruction& i = d.emit(is_load ? &load : &store, std::move(slots), order && is_load ? Kind::kAsk : Kind::kPlain);
  i.imm = at.offset;
  i.extra = Form{space == Space::kConst ? Space::kGlobal : space,
                 bytes,
                 count,
                 register_bits / 8,
                 at.bits / 8,
                 is_signed(t),
                 order.has_value(),
                 order.value_or(arch::MemoryOrder::kRelaxed)}
                .packed();
  d.names_access(i, is_load ? "ld" : "st");
}

// cp.async.
/// r = {shared address, global address, bytes to read}; imm: both offsets; extra: bits of both addresses, and bytes.
struct CopyForm {
  int shared_bytes, global_bytes, bytes;
};
void copy(Warp& w, const Instruction& i) {
  Block& block = w.block();
  const CopyForm f{i.extra & 15, i.extra >> 4 & 15, i.extra >> 8};
  for (const int l : Lanes(w.mask())) {
    const std::uint32_t read = w.at<std::uint32_t>(i.r[2])[l];
    if (read > static_cast<std::uint32_t>(f.bytes))
      block.stop(l, i, fmt::format("cp.async reads {} bytes to write {}", read, f.bytes));
    const std::uint64_t to = address_at(w, i.r[0], f.shared_bytes, static_cast<std::int32_t>(i.imm), l);
    const std::uint64_t from = address_at(w, i.r[1], f.global_bytes, i.imm >> 32, l);
    block.machine().copy(block.shared_place(l, i, to, static_cast<std::size_t>(f.bytes), "cp.async"),
                         block.global_place(from), static_cast<std::size_t>(f.bytes), read, block.place_of(i));
  }
}
void commit(Warp& w, const Instruction&) {
  for_each_speaker(w, [](emu::Machine& machine, int) { machine.commit_copies(); });
}
void wait(Warp& w, const Instruction& i) {
  for_each_speaker(w, [&](emu::Machine& machine, int) { machine.wait_copies(static_cast<int>(i.imm)); });
}
/// All copies, those too that no commit closed.
void wait_all(Warp& w, const Instruction&) {
  for_each_speaker(w, [](emu::Machine& machine, int) {
    machine.commit_copies();
    machine.wait_copies(0);
  });
}

// Cache policies.
/// r = {d, fraction}; extra: the eviction.
void make_policy(Warp& w, const Instruction& i) {
  const float* const fraction = w.at<float>(i.r[1]);
  for (const int l : Lanes(w.mask())) {
    w.block().machine().speaks_for(l);
    w.at<std::uint64_t>(i.r[0])[l] =
        emu::make_cache_policy(static_cast<arch::Eviction>(i.extra), fraction[l], w.block().place_of(i)).bits;
  }
}
void create_policy(Decoder& d) {
  if (!d.take("fractional")) d.refuse("'.fractional' is needed");
  const bool first = d.take("L2::evict_first");
  if (!first && !d.take_any({"L2::evict_last", "L2::evict_normal", "L2::evict_unchanged"}))
    d.refuse("what the policy is for is needed");
  d.take_any({"L2::evict_first", "L2::evict_unchanged"});
  if (!d.take("b64")) d.refuse("'.b64' is needed");
  d.expect_operands(1, 2);
  constexpr std::uint64_t kOne = 0x3f80'0000;  // 1.0f
  const std::uint32_t fraction = d.operand_count() == 2 ? d.source(1, 32) : d.constant(kOne, 32);
  d.emit(&make_policy, {d.destination(std::size_t{0}, 64), fraction}).extra =
      static_cast<int>(first ? arch::Eviction::kFirst : arch::Eviction::kLast);
}

}  // namespace

void decode_copy(Decoder& d) {
  if (d.take("commit_group")) {
    d.expect_operands(0);
    d.emit(&commit, {});
    return;
  }
  if (d.take("wait_all")) {
    d.expect_operands(0);
    d.emit(&wait_all, {});
    return;
  }
  if (d.take("wait_group")) {
    d.expect_operands(1);
    const std::uint64_t pending = d.immediate(d.operand(0));
    d.emit(&wait, {}).imm = static_cast<std::int64_t>(std::min<std::uint64_t>(pending, 1 << 20));
    return;
  }
  if (d.take("mbarrier")) return decode_copy_arrival(d);
  const bool past_l1 = d.take("cg");
  if (!past_l1 && !d.take("ca")) d.refuse("'.cg' or '.ca' is needed");
  if (!d.take_any({"shared", "shared::cta"}) || !d.take("global")) d.refuse("copies from global to shared memory");
  take_cache_hints(d);
  d.expect_operands(3, d.caches() ? 5 : 4);
  const std::uint64_t bytes = d.immediate(d.operand(2));
  if (bytes != 16 && (past_l1 || (bytes != 4 && bytes != 8)))
    d.refuse(fmt::format("copies of {} bytes: .cg takes 16, .ca 4, 8 and 16", bytes));
  const Decoder::Address to = d.address(d.operand(0), Space::kShared), from = d.address(d.operand(1), Space::kGlobal);
  const auto fits = [](std::int64_t x) { return x >= INT32_MIN && x <= INT32_MAX; };
  if (!fits(to.offset) || !fits(from.offset)) d.refuse("an offset of more than 32 bits");
  const bool reads_some = d.operand_count() == (d.caches() ? 5u : 4u);
  if (reads_some && d.operand(3).kind == Operand::Kind::kRegister && d.register_bits(d.operand(3)) == 1)
    d.refuse("a predicate in place of the bytes to read is not known");
  Instruction& i = d.emit(&copy, {to.slot, from.slot, reads_some ? d.source(3, 32) : d.constant(bytes, 32)});
  i.imm =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(from.offset) << 32 | static_cast<std::uint32_t>(to.offset));
  i.extra = to.bits / 8 | from.bits / 8 << 4 | static_cast<int>(bytes) << 8;
}

bool decode_memory(Decoder& d, std::string_view base) {
  if (base == "createpolicy") return create_policy(d), true;
  if (base == "ld" || base == "ldu") return access(d, true), true;
  if (base == "st") return access(d, false), true;
  return false;
}

}  // namespace flashfit::ptx
