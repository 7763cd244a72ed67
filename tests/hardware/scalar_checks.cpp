// Scalar functions, shuffles, votes and copies.
#include <fmt/format.h>

#include <limits>

#include "hardware/both.hpp"
#include "hardware/probes.cuh"
#include "proof/reference/tensors.hpp"

namespace flashfit::hardware {
namespace {

constexpr int kCount = 1 << 16;

/// Any pattern of bits: all exponents, subnormals, infinities, NaN; then what kernels ask of exp2 and log2 most.
std::vector<float> floats(std::uint64_t seed) {
  reference::Random random(seed);
  std::vector<float> x(kCount);
  for (int i = 0; i < kCount; ++i)
    x[i] = i % 2 == 0 ? std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()))
                      : static_cast<float>(random.normal() * 20);
  const float edges[] = {0.f,     -0.f,     1.f,      -1.f,    0x1p-149f, 0x1p-126f, 65504.f, 65519.f,
                         65520.f, 0x1p-25f, 0x1p-24f, 3.4e38f, INFINITY,  -INFINITY, NAN,     -149.5f};
  // Every edge of one operand meets every edge of the other.
  constexpr int kEdges = std::size(edges);
  for (int i = 0; i < kEdges * kEdges; ++i) x[i] = edges[seed == 1 ? i % kEdges : i / kEdges];
  return x;
}

/// |got - want| in units of 2^-22 `scale`, infinite where only one is NaN or infinite; subnormals may be 0.
double error_of(float got, double want, double scale) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isinf(got) || std::isinf(static_cast<float>(want)))
    return static_cast<double>(got) == static_cast<double>(static_cast<float>(want)) ? 0 : HUGE_VAL;
  if (std::abs(want) < 0x1p-126 && got == 0) return 0;
  return std::abs(got - want) / (std::max(scale, 0x1p-126) * 0x1p-22);
}

Outcome scalars(const Place& place) {
  Outcome outcome;
  lab::Trial<ScalarProbe> trial{"scalars", {kCount / ScalarProbe::kThreads}, {}, [](const lab::Where& at) {
                                  const auto f = [&](int i) { return at.as<float>(i); };
                                  const auto u = [&](int i) { return at.as<uint32>(i); };
                                  return ScalarProbe::Params{f(0), f(1), f(2), f(3), f(4),
                                                             f(5), f(6), u(7), u(8), f(9)};
                                }};
  const std::vector<float> x = floats(1), y = floats(2);
  trial.buffers = {{"x", x}, {"y", y}};
  for (const char* name : {"exp2", "log2", "max", "widened", "widened_brain", "half", "brain", "max_or_nan"})
    trial.buffers.emplace_back(name, kCount * 4, true);
  Both<ScalarProbe> both(trial, place, outcome);
  if (!both.ran) return outcome;
  outcome.demand("max", both.compare<float>(4));
  outcome.demand("max_or_nan", both.compare<float>(9));
  outcome.demand("widen_fp16", both.compare<float>(5));
  outcome.demand("widen_bf16", both.compare<float>(6));
  // A NaN's payload is nobody's: lanes with one are compared as NaN or not by the halves' own test.
  const auto same = [](std::uint32_t a, std::uint32_t b, std::uint32_t infinity) {
    for (int h = 0; h < 2; ++h) {
      const std::uint32_t g = a >> 16 * h & 0x7fff, e = b >> 16 * h & 0x7fff;
      if (g > infinity && e > infinity) continue;
      if ((a >> 16 * h & 0xffff) != (b >> 16 * h & 0xffff)) return false;
    }
    return true;
  };
  for (const auto& [buffer, infinity] : {std::pair{7, 0x7c00u}, {8, 0x7f80u}}) {
    Agreement a;
    const auto gpu = both.gpu.buffers[buffer].as<std::uint32_t>(),
               emu = both.emulator.buffers[buffer].as<std::uint32_t>();
    for (int i = 0; i < kCount; ++i) {
      const bool equal = same(gpu[i], emu[i], infinity);
      ++a.compared;
      a.equal += equal;
      if (!equal && a.first.empty())
        a.first = fmt::format("pack({}, {}): GPU {:08x}, emulator {:08x}", x[i], y[i], gpu[i], emu[i]);
    }
    outcome.demand(buffer == 7 ? "pack_fp16" : "pack_bf16", a);
  }
  // arch.hpp promises 2^-22, and that subnormal numbers may be taken as 0.
  double worst_exp2 = 0, worst_log2 = 0;
  const auto e = both.gpu.buffers[2].as<float>(), l = both.gpu.buffers[3].as<float>();
  float at_exp2 = 0, at_log2 = 0;
  const auto of_exp2 = [](float got, double from) { return error_of(got, std::exp2(from), std::exp2(from)); };
  const auto of_log2 = [](float got, double from) {
    return error_of(got, std::log2(from), std::max(1., std::abs(std::log2(from))));
  };
  for (int i = 0; i < kCount; ++i) {
    const double exact = x[i], flushed = std::abs(x[i]) < 0x1p-126f ? std::copysign(0., exact) : exact;
    if (const double error = std::min(of_exp2(e[i], exact), of_exp2(e[i], flushed)); error > worst_exp2)
      worst_exp2 = error, at_exp2 = x[i];
    if (const double error = std::min(of_log2(l[i], exact), of_log2(l[i], flushed)); error > worst_log2)
      worst_log2 = error, at_log2 = x[i];
  }
  outcome.kept["exp2_error"] = worst_exp2;
  outcome.kept["exp2_worst_at"] = at_exp2;
  outcome.kept["log2_error"] = worst_log2;
  outcome.kept["log2_worst_at"] = at_log2;
  if (!(worst_exp2 <= 1)) outcome.fail(fmt::format("exp2({}) is {} times 2^-22 off", at_exp2, worst_exp2));
  if (!(worst_log2 <= 1)) outcome.fail(fmt::format("log2({}) is {} times 2^-22 off", at_log2, worst_log2));
  return outcome;
}

Outcome warp(const Place& place) {
  Outcome outcome;
  std::vector<float> x(32);
  for (int i = 0; i < 32; ++i) x[i] = static_cast<float>(i + 1);
  lab::Trial<WarpProbe> trial{"warp", {}, {}, [](const lab::Where& at) {
                                return WarpProbe::Params{at.as<const float>(0), at.as<float>(1), at.as<uint32>(2)};
                              }};
  trial.buffers = {{"x", x}, {"shuffled", 32 * 32 * 4, true}, {"votes", 5 * 32 * 4, true}};
  Both<WarpProbe> both(trial, place, outcome);
  if (!both.ran) return outcome;
  outcome.demand("shuffle_xor", both.compare<float>(1));
  outcome.demand("ballot", both.compare<std::uint32_t>(2));
  return outcome;
}

Outcome integers(const Place& place) {
  Outcome outcome;
  std::vector<int> x(32);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(7 - static_cast<uint32>(i) * 0x3ffffff1u);
  lab::Trial<IntegerProbe> trial{"integers", {}, {}, [](const lab::Where& at) {
                                   return IntegerProbe::Params{at.as<const int>(0), at.as<int>(1), at.as<uint32>(2)};
                                 }};
  trial.buffers = {{"x", x}, {"out", 6 * 32 * 4, true}, {"unsigned_out", 6 * 32 * 4, true}};
  Both<IntegerProbe> both(trial, place, outcome);
  if (!both.ran) return outcome;
  outcome.demand("of_int", both.compare<std::uint32_t>(1));
  outcome.demand("of_uint32", both.compare<std::uint32_t>(2));
  return outcome;
}

Outcome copy(const Place& place) {
  Outcome outcome;
  std::vector<f16> from(64 * 8);
  for (std::size_t i = 0; i < from.size(); ++i) from[i].bits = static_cast<unsigned short>(i + 1);
  std::vector<int> inside(64);
  for (std::size_t i = 0; i < inside.size(); ++i) inside[i] = i % 3 != 0;
  lab::Trial<CopyProbe> trial{"copy", {}, {}, [](const lab::Where& at) {
                                return CopyProbe::Params{at.as<const f16>(0), at.as<const int>(1), at.as<uint32>(2)};
                              }};
  trial.buffers = {{"from", from}, {"inside", inside}, {"out", 64 * 16, true}};
  Both<CopyProbe> both(trial, place, outcome);
  if (both.ran) outcome.demand("cp_async_16", both.compare<std::uint32_t>(2));
  return outcome;
}

}  // namespace

std::vector<Check> scalar_checks() {
  return {{"scalars", "scalars", scalars},
          {"scalars", "warp", warp},
          {"scalars", "integers", integers},
          {"scalars", "copy", copy}};
}

}  // namespace flashfit::hardware
