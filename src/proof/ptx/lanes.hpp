#pragma once
// Lanes one after the other, and instructions that each lane does on its own: one template a number of operands, given
// the operation.
#include <bit>
#include <cstdint>
#include <type_traits>

#include "proof/ptx/block.hpp"
#include "proof/ptx/decoder.hpp"

namespace flashfit::ptx {

/// The lanes of a mask, from the lowest on: `for (const int lane : Lanes(mask))`.
class Lanes {
 public:
  explicit Lanes(std::uint32_t mask) : mask_(mask) {}

  struct Iterator {
    std::uint32_t left;
    int operator*() const { return std::countr_zero(left); }
    Iterator& operator++() {
      left &= left - 1;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return left != other.left; }
  };
  Iterator begin() const { return {mask_}; }
  Iterator end() const { return {0}; }

 private:
  std::uint32_t mask_;
};

/// each(machine, lane) for the running lanes, with the machine acting in the name of each.
template <class Do>
void for_each_speaker(const Warp& w, Do each) {
  emu::Machine& machine = w.block().machine();
  for (const int lane : Lanes(w.mask())) {
    machine.speaks_for(lane);
    each(machine, lane);
  }
}

/// r = {d, a}.
template <class To, class From, class Op>
void unary(Warp& w, const Instruction& i) {
  To* const d = w.at<To>(i.r[0]);
  const From* const a = w.at<From>(i.r[1]);
  w.each(d, [=](int l) { return static_cast<To>(Op{}(a[l])); });
}

/// r = {d, a, b}; b may be of another type, as a shift's is.
template <class T, class Op, class To = T, class B = T>
void binary(Warp& w, const Instruction& i) {
  To* const d = w.at<To>(i.r[0]);
  const T* const a = w.at<T>(i.r[1]);
  const B* const b = w.at<B>(i.r[2]);
  w.each(d, [=](int l) { return static_cast<To>(Op{}(a[l], b[l])); });
}

/// r = {d, a, b, c}.
template <class T, class Op, class To = T>
void ternary(Warp& w, const Instruction& i) {
  To* const d = w.at<To>(i.r[0]);
  const T *const a = w.at<T>(i.r[1]), *const b = w.at<T>(i.r[2]);
  const To* const c = w.at<To>(i.r[3]);
  w.each(d, [=](int l) { return static_cast<To>(Op{}(a[l], b[l], c[l])); });
}

/// The instance of `make` for an integer type of 16 bits or more; nullptr: it is none.
template <class Make>
Run for_integer(Type t, Make make) {
  switch (t) {
    case Type::kU16:
      return make(std::uint16_t{});
    case Type::kS16:
      return make(std::int16_t{});
    case Type::kU32:
      return make(std::uint32_t{});
    case Type::kS32:
      return make(std::int32_t{});
    case Type::kU64:
      return make(std::uint64_t{});
    case Type::kS64:
      return make(std::int64_t{});
    default:
      return nullptr;
  }
}
/// The same for types without a sign: b16, b32, b64, and integers taken so.
template <class Make>
Run for_bits(int bits, Make make) {
  switch (bits) {
    case 16:
      return make(std::uint16_t{});
    case 32:
      return make(std::uint32_t{});
    case 64:
      return make(std::uint64_t{});
    default:
      return nullptr;
  }
}

/// Unsigned and of at least 32 bits, so that no operation overflows or is promoted to a signed type.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;

}  // namespace flashfit::ptx
