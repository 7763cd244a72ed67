// wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"): the emulator's products (proof/emu/wgmma.hpp) on
// the registers of warps (proof/ptx/lent_registers.hpp).
#include <fmt/format.h>

#include "kernels/layout/matrix_descriptor.hpp"
#include "proof/emu/matrix_ops.hpp"
#include "proof/ptx/block.hpp"
#include "proof/ptx/decoder.hpp"
#include "proof/ptx/lent_registers.hpp"

namespace flashfit::ptx {
namespace {

void check_lanes(Warp& w, const Instruction& i) {
  if (w.mask() != ~0u) w.block().stop(0, i, "wgmma without all lanes of the warp");
  w.block().machine().speaks_for(0);
}

void fence(Warp& w, const Instruction& i) {
  check_lanes(w, i);
  w.block().count(&emu::Stats::wgmma_fences);
  w.lent().fence();
}
void commit(Warp& w, const Instruction& i) {
  check_lanes(w, i);
  w.block().count(&emu::Stats::wgmma_commits);
  emu::Site site = w.block().place_of(i);
  void* const lanes[] = {&site};
  emu::kWgmmaCommit.execute(lanes);
  w.lent().commit();
}
void wait(Warp& w, const Instruction& i) {
  check_lanes(w, i);
  w.block().count(&emu::Stats::wgmma_waits);
  w.lent().wait(w, static_cast<int>(i.imm), w.block().place_of(i));
}

/// What an instruction is, packed into Instruction::extra.
struct Form {
  bool bf16, a_in_registers, a_major_mn, b_major_mn;
  int n;

  std::int32_t packed() const { return bf16 | a_in_registers << 1 | a_major_mn << 2 | b_major_mn << 3 | n << 4; }
  static Form of(std::int32_t x) { return {(x & 1) != 0, (x & 2) != 0, (x & 4) != 0, (x & 8) != 0, x >> 4}; }
};

/// r = {members, scale, b, a or 4 registers of it, d ...}; imm: ~0 if the scale's predicate is negated.
void multiply(Warp& w, const Instruction& i) {
  check_lanes(w, i);
  w.block().count(&emu::Stats::wgmma);
  const Form f = Form::of(i.extra);
  const auto scale = w.predicate(i.r[1]) ^ static_cast<std::uint32_t>(i.imm);
  const emu::WgmmaShape shape{f.bf16 ? DType::kBF16 : DType::kF16, f.n, f.a_major_mn ? Major::kMN : Major::kK,
                              f.b_major_mn ? Major::kMN : Major::kK, f.a_in_registers};
  std::array<emu::WgmmaOperands, Warp::kLanes> lanes;
  for (int l = 0; l < Warp::kLanes; ++l)
    lanes[static_cast<std::size_t>(l)] = {shape,
                                          nullptr,
                                          nullptr,
                                          f.a_in_registers ? 0 : w.at<std::uint64_t>(i.r[3])[l],
                                          w.at<std::uint64_t>(i.r[2])[l],
                                          (scale >> l & 1) != 0};
  const std::size_t a = f.a_in_registers ? 4 : 0;
  const std::uint32_t* const d = i.r + 3 + (f.a_in_registers ? 4 : 1);
  if (const std::string wrong =
          w.lent().issue(w, {d, static_cast<std::size_t>(f.n / 2)}, {i.r + 3, a}, lanes, w.block().place_of(i));
      !wrong.empty())
    w.block().stop(0, i, wrong);
}

/// "m64n128k16"; the n.
int take_shape(Decoder& d) {
  const std::string_view shape = d.take_word();
  for (int n = 8; n <= 256; n += 8)
    if (shape == fmt::format("m64n{}k16", n)) return n;
  d.refuse("'.m64nNk16' is known, N a multiple of 8 up to 256");
}

void product(Decoder& d) {
  const int n = take_shape(d);
  if (!d.take("f32")) d.refuse("sums of fp32 are known");
  const Type a = d.take_type(), b = d.take_type();
  if (a != b || (a != Type::kF16 && a != Type::kBF16)) d.refuse("fp16 or bf16 are known");
  d.expect_operands(7, 8);
  const Operand &to = d.operand(0), &left = d.operand(1);
  Form f{a == Type::kBF16, left.kind == Operand::Kind::kVector, false, false, n};
  if (d.operand_count() != (f.a_in_registers ? 7u : 8u)) d.refuse("another number of operands is needed");
  if (to.kind != Operand::Kind::kVector || to.parts.size() != static_cast<std::size_t>(n / 2))
    d.refuse(fmt::format("takes {} accumulators", n / 2));
  if (d.immediate(d.operand(4)) != 1 || d.immediate(d.operand(5)) != 1) d.refuse("negated operands are not known");
  if (!f.a_in_registers) f.a_major_mn = d.immediate(d.operand(6)) != 0;
  f.b_major_mn = d.immediate(d.operand(f.a_in_registers ? 6 : 7)) != 0;
  Operand scale = d.operand(3);
  const bool negated = std::exchange(scale.negated, false);
  std::vector<std::uint32_t> slots = {d.constant(~std::uint64_t{0}, 32), d.source(scale, 1), d.source(2, 64)};
  if (f.a_in_registers) {
    if (left.parts.size() != 4) d.refuse("takes 4 registers of A");
    for (const Operand& r : left.parts) slots.push_back(d.source(r, 32));
  } else {
    slots.push_back(d.source(left, 64));
  }
  for (const Operand& r : to.parts) {
    if (r.kind != Operand::Kind::kRegister) d.refuse("accumulators are registers");
    slots.push_back(d.destination(r, 32));
  }
  Instruction& i = d.emit(&multiply, std::move(slots), Kind::kTogether);
  i.extra = f.packed();
  i.imm = negated ? -1 : 0;
}

}  // namespace

bool decode_warpgroup(Decoder& d, std::string_view base) {
  if (base != "wgmma") return false;
  const std::string_view what = d.take_word();
  if (!d.take("sync") || !d.take("aligned")) d.refuse("'.sync.aligned' is needed");
  const auto all = [&] { return std::vector{d.constant(~std::uint64_t{0}, 32)}; };
  if (what == "mma_async") return product(d), true;
  if (what == "fence" || what == "commit_group") {
    d.expect_operands(0);
    d.emit(what == "fence" ? &fence : &commit, all(), Kind::kTogether);
    return true;
  }
  if (what == "wait_group") {
    d.expect_operands(1);
    const std::uint64_t pending = d.immediate(d.operand(0));
    d.emit(&wait, all(), Kind::kTogether).imm = static_cast<std::int64_t>(std::min<std::uint64_t>(pending, 7));
    return true;
  }
  return false;
}

}  // namespace flashfit::ptx
