// Atomic operations (PTX ISA, "atom", "red"), each lane's in its turn, one step for all host threads.
#include <atomic>
#include <bit>
#include <cmath>
#include <optional>

#include "core/base/half.hpp"
#include "proof/ptx/block.hpp"
#include "proof/ptx/lanes.hpp"

namespace flashfit::ptx {
namespace {

struct Add {
  template <class T>
  T operator()(T held, T b, T) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(held) + static_cast<std::make_unsigned_t<T>>(b));
    else
      return held + b;
  }
};
struct Min {
  template <class T>
  T operator()(T held, T b, T) const {
    return b < held ? b : held;
  }
};
struct Max {
  template <class T>
  T operator()(T held, T b, T) const {
    return b > held ? b : held;
  }
};
struct And {
  template <class T>
  T operator()(T held, T b, T) const {
    return held & b;
  }
};
struct Or {
  template <class T>
  T operator()(T held, T b, T) const {
    return held | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T held, T b, T) const {
    return held ^ b;
  }
};
struct Exchange {
  template <class T>
  T operator()(T, T b, T) const {
    return b;
  }
};
struct CompareAndSwap {
  /// Where they differ nothing is written.
  template <class T>
  std::optional<T> operator()(T held, T b, T c) const {
    return held == b ? std::optional(c) : std::nullopt;
  }
};
struct Increment {
  template <class T>
  T operator()(T held, T b, T) const {
    return held >= b ? 0 : held + 1;
  }
};
struct Decrement {
  template <class T>
  T operator()(T held, T b, T) const {
    return held == 0 || held > b ? b : held - 1;
  }
};
/// Two 16-bit floats, each added by itself.
template <class Half>
struct AddHalves {
  std::uint32_t operator()(std::uint32_t held, std::uint32_t b, std::uint32_t) const {
    const auto sum = [](std::uint32_t x, std::uint32_t y) {
      const Half a{static_cast<std::uint16_t>(x)}, c{static_cast<std::uint16_t>(y)};
      return std::uint32_t{from_float<Half>(to_float(a) + to_float(c)).bits};
    };
    return sum(held >> 16, b >> 16) << 16 | sum(held & 0xffff, b & 0xffff);
  }
};

/// One of them.
template <class Half>
struct AddHalf {
  std::uint16_t operator()(std::uint16_t held, std::uint16_t b, std::uint16_t) const {
    return from_float<Half>(to_float(Half{held}) + to_float(Half{b})).bits;
  }
};

template <class T>
using BitsOf =
    std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>>;

/// With the CPU's atomics, as bulk copies of other host threads may add to the place. What was there before, as bits.
template <class T, class Op>
BitsOf<T> step(std::byte* at, T b, T c, emu::Atomics::Did& did) {
  const std::atomic_ref<BitsOf<T>> held(*reinterpret_cast<BitsOf<T>*>(at));
  BitsOf<T> before = held.load();
  while (true) {
    const std::optional<T> after = Op{}(std::bit_cast<T>(before), b, c);
    did = after ? emu::Atomics::Did::kChanged : emu::Atomics::Did::kRead;
    if (!after || held.compare_exchange_weak(before, std::bit_cast<BitsOf<T>>(*after))) return before;
  }
}

/// How an instruction finds its place, and what it orders, packed into Instruction::extra.
struct Form {
  Space space;
  int address_bytes;
  arch::MemoryOrder order;
  bool returns;

  std::int32_t packed() const {
    return static_cast<int>(space) | address_bytes << 4 | static_cast<int>(order) << 8 | returns << 12;
  }
  static Form of(std::int32_t x) {
    return {static_cast<Space>(x & 15), x >> 4 & 15, static_cast<arch::MemoryOrder>(x >> 8 & 15), (x >> 12 & 1) != 0};
  }
};

/// r = {d, address, b, c}; imm: the offset.
template <class T, class Op>
void atomic(Warp& w, const Instruction& i) {
  Block& block = w.block();
  const Form f = Form::of(i.extra);
  for (const int l : Lanes(w.mask())) {
    const std::uint64_t address = f.address_bytes == 4
                                      ? w.at<std::uint32_t>(i.r[1])[l] + static_cast<std::uint32_t>(i.imm)
                                      : w.at<std::uint64_t>(i.r[1])[l] + static_cast<std::uint64_t>(i.imm);
    BitsOf<T> before{};
    block.as_one_step(w, l, i, f.space, address, sizeof(T),
                      f.returns ? emu::GlobalAccess::kAtomic : emu::GlobalAccess::kAdd, f.order, [&](std::byte* at) {
                        emu::Atomics::Did did{};
                        before = step<T, Op>(at, w.at<T>(i.r[2])[l], w.at<T>(i.r[3])[l], did);
                        return did;
                      });
    if (f.returns) w.at<BitsOf<T>>(i.r[0])[l] = before;
  }
  // A loop of these alone waits for somebody: lanes of this warp or others.
  if (w.asks_in_a_loop() && !w.let_others_run()) block.machine().yield_to_any();
}

template <class Op>
Run of_integers(Type t) {
  switch (t) {
    case Type::kU32:
    case Type::kB32:
      return &atomic<std::uint32_t, Op>;
    case Type::kS32:
      return &atomic<std::int32_t, Op>;
    case Type::kU64:
    case Type::kB64:
      return &atomic<std::uint64_t, Op>;
    case Type::kS64:
      return &atomic<std::int64_t, Op>;
    default:
      return nullptr;
  }
}

Run operation(std::string_view op, Type t) {
  if (op == "add") {
    if (t == Type::kF32) return &atomic<float, Add>;
    if (t == Type::kF64) return &atomic<double, Add>;
    if (t == Type::kF16) return &atomic<std::uint16_t, AddHalf<f16>>;
    if (t == Type::kBF16) return &atomic<std::uint16_t, AddHalf<bf16>>;
    if (t == Type::kF16x2) return &atomic<std::uint32_t, AddHalves<f16>>;
    if (t == Type::kBF16x2) return &atomic<std::uint32_t, AddHalves<bf16>>;
    return of_integers<Add>(t);
  }
  if (op == "min") return of_integers<Min>(t);
  if (op == "max") return of_integers<Max>(t);
  if (op == "and") return of_integers<And>(t);
  if (op == "or") return of_integers<Or>(t);
  if (op == "xor") return of_integers<Xor>(t);
  if (op == "exch") return of_integers<Exchange>(t);
  if (op == "cas") return t == Type::kB16 ? &atomic<std::uint16_t, CompareAndSwap> : of_integers<CompareAndSwap>(t);
  if (op == "inc" && t == Type::kU32) return &atomic<std::uint32_t, Increment>;
  if (op == "dec" && t == Type::kU32) return &atomic<std::uint32_t, Decrement>;
  return nullptr;
}

void atomic_operation(Decoder& d, bool returns) {
  // The ISA writes order, scope, space; LLVM writes them the other way round, which ptxas takes too.
  Space space = Space::kGeneric;
  auto order = arch::MemoryOrder::kRelaxed;
  for (int qualifiers = 0; qualifiers < 3; ++qualifiers) {
    if (const auto named = d.take_order())
      order = *named;
    else if (d.take("global"))
      space = Space::kGlobal;
    else if (d.take_any({"shared", "shared::cta", "shared::cluster"}))
      space = Space::kShared;
    else if (!d.take_any({"cta", "cluster", "gpu", "sys"}))
      break;
  }
  const std::string_view op = d.take_word();
  d.take("noftz");
  const Type t = d.take_type();
  const Run run = operation(op, t);
  if (run == nullptr) d.refuse("this operation is not known");
  const std::size_t first = returns ? 1 : 0, operands = op == "cas" ? 3 : 2;
  d.expect_operands(first + operands);
  const int bits = bits_of(t);
  const bool keeps = returns && d.operand(0).kind != Operand::Kind::kSink;
  const Decoder::Address at = d.address(d.operand(first), space);
  Instruction& i = d.emit(run,
                          {keeps ? d.destination(std::size_t{0}, bits) : 0, at.slot, d.source(first + 1, bits),
                           d.source(first + operands - 1, bits)},
                          Kind::kAsk);
  i.imm = at.offset;
  i.extra = Form{space, at.bits / 8, order, keeps}.packed();
  d.names_access(i, returns ? "atom" : "red");
}

}  // namespace

bool decode_atomic(Decoder& d, std::string_view base) {
  if (base == "atom") return atomic_operation(d, true), true;
  if (base == "red") return atomic_operation(d, false), true;
  return false;
}

}  // namespace flashfit::ptx
