// ldmatrix, stmatrix and mma.sync (PTX ISA, "Warp Level Matrix Instructions"): fragments in, the emulator's products
// (proof/emu/product.hpp) between, fragments out.
#include <fmt/format.h>

#include <cstring>

#include "proof/emu/product.hpp"
#include "proof/ptx/block.hpp"
#include "proof/ptx/decoder.hpp"

namespace flashfit::ptx {
namespace {

constexpr int kSide = 8;  // rows and columns of a matrix

std::uint32_t address_at(const Warp& w, const Instruction& i, int lane) {
  return w.at<std::uint32_t>(i.r[1])[lane] + static_cast<std::uint32_t>(i.imm);
}

/// r = {members, address, registers ...}; imm: the offset; extra: how many matrices. Register k of lane l has row l /
/// 4, columns 2 (l % 4) and the next of matrix k, whose rows the lanes 8 k .. 8 k + 7 point to.
template <bool Trans>
void load_matrix(Warp& w, const Instruction& i) {
  w.block().count(&emu::Stats::ldmatrix);
  const std::byte* rows[Warp::kLanes];
  w.block().matrix_rows(i, w.at<std::uint32_t>(i.r[1]), static_cast<std::uint32_t>(i.imm), i.extra * kSide, rows);
  for (int k = 0; k < i.extra; ++k) {
    std::uint16_t matrix[kSide][kSide];
    for (int row = 0; row < kSide; ++row) {
      const std::byte* const from = rows[k * kSide + row];
      if constexpr (Trans) {
        std::uint16_t elements[kSide];
        std::memcpy(elements, from, sizeof elements);
        for (int column = 0; column < kSide; ++column) matrix[column][row] = elements[column];
      } else {
        std::memcpy(matrix[row], from, sizeof matrix[row]);
      }
    }
    std::memcpy(w.at<std::uint32_t>(i.r[2 + k]), matrix, sizeof matrix);  // lane by lane, row by row
  }
}

template <bool Trans>
void store_matrix(Warp& w, const Instruction& i) {
  w.block().count(&emu::Stats::stmatrix);
  for (int k = 0; k < i.extra; ++k) {
    std::uint16_t matrix[kSide][kSide];
    std::memcpy(matrix, w.at<std::uint32_t>(i.r[2 + k]), sizeof matrix);
    for (int row = 0; row < kSide; ++row) {
      const int lane = k * kSide + row;
      std::byte* const to =
          w.block().resolve(w, lane, i, Space::kShared, address_at(w, i, lane), 2 * kSide, emu::Access::kWrite);
      for (int column = 0; column < kSide; ++column)
        std::memcpy(to + 2 * column, Trans ? &matrix[column][row] : &matrix[row][column], 2);
    }
  }
}

void matrix_access(Decoder& d, bool is_load) {
  if (!d.take("sync") || !d.take("aligned") || !d.take("m8n8")) d.refuse("'.sync.aligned.m8n8' is needed");
  const int count = d.take("x4") ? 4 : d.take("x2") ? 2 : d.take("x1") ? 1 : 0;
  if (count == 0) d.refuse("'.x1', '.x2' or '.x4' is needed");
  const bool trans = d.take("trans");
  if (!d.take_any({"shared", "shared::cta"}) || !d.take("b16")) d.refuse("'.shared.b16' is needed");
  d.expect_operands(2);
  const Decoder::Address at = d.address(d.operand(is_load ? 1 : 0), Space::kShared);
  const Operand& values = d.operand(is_load ? 0 : 1);
  if (values.kind != Operand::Kind::kVector || values.parts.size() != static_cast<std::size_t>(count))
    d.refuse(fmt::format("takes {} registers", count));
  if (at.bits != 32) d.refuse("a 32-bit register has the address");
  std::vector<std::uint32_t> slots = {d.constant(~std::uint64_t{0}, 32), at.slot};
  for (const Operand& v : values.parts) slots.push_back(is_load ? d.destination(v, 32) : d.source(v, 32));
  const Run run = is_load ? (trans ? &load_matrix<true> : &load_matrix<false>)
                          : (trans ? &store_matrix<true> : &store_matrix<false>);
  Instruction& i = d.emit(run, std::move(slots), Kind::kTogether);
  i.imm = at.offset;
  i.extra = count;
  d.names_access(i, is_load ? (trans ? "ldmatrix.trans" : "ldmatrix") : "stmatrix");
}

// mma. "Matrix Fragments for mma.m16n8k16" and "mma.m16n8k8".
constexpr int kM = 16, kN = 8, kK = 16;

/// r = {members, d x 4, a x K / 4, b x K / 8, c x 4}. With 8 of k, the other 8 are zeros.
template <DType T, int K>
void multiply(Warp& w, const Instruction& i) {
  Block& block = w.block();
  if (w.mask() != ~0u) block.stop(0, i, "mma without all lanes of the warp");
  block.count(&emu::Stats::mma);
  constexpr int kA = K / 4, kB = K / 8;
  const std::uint32_t *const d = i.r + 1, *const a = d + 4, *const b = a + kA, *const c = b + kB;
  std::uint16_t left[kM][kK] = {}, right[kK][kN] = {};
  float sum[kM][kN];
  for (int r = 0; r < kA; ++r) {
    const std::uint32_t* const from = w.at<std::uint32_t>(a[r]);
    for (int l = 0; l < Warp::kLanes; ++l) std::memcpy(&left[l / 4 + r % 2 * 8][l % 4 * 2 + r / 2 * 8], from + l, 4);
  }
  for (int r = 0; r < kB; ++r) {
    const std::uint32_t* const from = w.at<std::uint32_t>(b[r]);
    for (int l = 0; l < Warp::kLanes; ++l) {
      right[l % 4 * 2 + r * 8][l / 4] = static_cast<std::uint16_t>(from[l]);
      right[l % 4 * 2 + r * 8 + 1][l / 4] = static_cast<std::uint16_t>(from[l] >> 16);
    }
  }
  for (int r = 0; r < 4; ++r) {
    const float* const from = w.at<float>(c[r]);
    for (int l = 0; l < Warp::kLanes; ++l) sum[l / 4 + r / 2 * 8][l % 4 * 2 + r % 2] = from[l];
  }
  emu::accumulate(T, {left[0], right[0], sum[0], kM, kN}, block.machine().tensor_core());
  for (int r = 0; r < 4; ++r) {
    float* const to = w.at<float>(d[r]);
    for (int l = 0; l < Warp::kLanes; ++l) to[l] = sum[l / 4 + r / 2 * 8][l % 4 * 2 + r % 2];
  }
}

void mma(Decoder& d) {
  if (!d.take("sync") || !d.take("aligned")) d.refuse("'.sync.aligned' is needed");
  const bool wide = d.take("m16n8k16");
  if (!wide && !d.take("m16n8k8")) d.refuse("'.m16n8k16' and '.m16n8k8' are known");
  if (!d.take("row") || !d.take("col") || !d.take("f32")) d.refuse("'.row.col.f32' is needed");
  const Type a = d.take_type(), b = d.take_type();
  if (a != b || (a != Type::kF16 && a != Type::kBF16) || !d.take("f32"))
    d.refuse("fp16 or bf16 with sums of fp32 are known");
  d.expect_operands(4);
  const std::size_t counts[] = {4, wide ? 4u : 2u, wide ? 2u : 1u, 4};
  std::vector<std::uint32_t> slots = {d.constant(~std::uint64_t{0}, 32)};
  for (std::size_t o = 0; o < 4; ++o) {
    const Operand& v = d.operand(o);
    if (v.kind != Operand::Kind::kVector || v.parts.size() != counts[o]) d.refuse("a vector has another length");
    for (const Operand& p : v.parts) slots.push_back(o == 0 ? d.destination(p, 32) : d.source(p, 32));
  }
  const Run run = a == Type::kF16 ? (wide ? &multiply<DType::kF16, 16> : &multiply<DType::kF16, 8>)
                                  : (wide ? &multiply<DType::kBF16, 16> : &multiply<DType::kBF16, 8>);
  d.emit(run, std::move(slots), Kind::kTogether);
}

}  // namespace

bool decode_matrix(Decoder& d, std::string_view base) {
  if (base == "ldmatrix") return matrix_access(d, true), true;
  if (base == "stmatrix") return matrix_access(d, false), true;
  if (base == "mma") return mma(d), true;
  return false;
}

}  // namespace flashfit::ptx
