// mma on numbers of every kind: bit for bit against the emulator's tensor-core mode, and how far its plain mode is.
#include <array>

#include "hardware/both.hpp"
#include "hardware/probes.cuh"
#include "proof/reference/tensors.hpp"

namespace flashfit::hardware {
namespace {

constexpr int kCases = 2048;

/// Operands of one kind of data, in one type: halves of A and B, and the accumulator.
struct Kind {
  const char* name;
  float (*operand)(reference::Random&);
  float (*accumulator)(reference::Random&);
};

float normal(reference::Random& r) { return static_cast<float>(r.normal()); }
float none(reference::Random&) { return 0; }
/// Magnitudes from 2^-12 to 2^12.
float wide(reference::Random& r) {
  return static_cast<float>(std::ldexp(r.normal(), static_cast<int>(r.bits() % 25) - 12));
}
float wider(reference::Random& r) {
  return static_cast<float>(std::ldexp(r.normal(), static_cast<int>(r.bits() % 61) - 30));
}
/// Large numbers of both signs among small ones, so that sums cancel and what is cut off shows.
float cancelling(reference::Random& r) {
  const float x = r.bits() % 4 == 0 ? 1024.f : static_cast<float>(r.normal());
  return r.bits() % 2 == 0 ? x : -x;
}
float tiny(reference::Random& r) { return static_cast<float>(r.normal() * 0x1p-14); }
float tiny_sum(reference::Random& r) { return static_cast<float>(r.normal() * 0x1p-130); }
float any(reference::Random& r) {
  constexpr std::array<float, 8> kOdd = {INFINITY, -INFINITY, NAN, 0.f, -0.f, 65504.f, -65504.f, 0x1p-24f};
  return r.bits() % 16 == 0 ? kOdd[r.bits() % kOdd.size()] : static_cast<float>(r.normal());
}
float any_sum(reference::Random& r) {
  return r.bits() % 8 == 0 ? any(r) : std::bit_cast<float>(static_cast<std::uint32_t>(r.bits()));
}

constexpr Kind kKinds[] = {
    {"normal", normal, none},  {"normal_onto_normal", normal, normal}, {"wide", wide, wide},
    {"wider", wide, wider},    {"cancelling", cancelling, wide},       {"cancelling_onto_zero", cancelling, none},
    {"subnormal", tiny, none}, {"subnormal_sums", tiny, tiny_sum},     {"not_finite", any, any_sum},
};

template <class T>
lab::Trial<MmaProbe<T>> trial_of(const Kind& kind, const char* name) {
  reference::Random random(11);
  std::vector<std::uint32_t> a(kCases * 128), b(kCases * 64);
  std::vector<float> c(kCases * 128);
  const auto pair = [&] {
    const std::uint32_t low = from_float<T>(kind.operand(random)).bits;
    return low | std::uint32_t{from_float<T>(kind.operand(random)).bits} << 16;
  };
  std::generate(a.begin(), a.end(), pair);
  std::generate(b.begin(), b.end(), pair);
  std::generate(c.begin(), c.end(), [&] { return kind.accumulator(random); });
  lab::Trial<MmaProbe<T>> trial{name, {kCases}, {}, [](const lab::Where& at) {
                                  return typename MmaProbe<T>::Params{at.as<const uint32>(0), at.as<const uint32>(1),
                                                                      at.as<const float>(2), at.as<float>(3)};
                                }};
  trial.buffers = {{"a", a}, {"b", b}, {"c", c}, {"d", c.size() * 4, true}};
  return trial;
}

template <class T>
Outcome product(const Place& place, const Kind& kind, const char* name) {
  Outcome outcome;
  const auto trial = trial_of<T>(kind, name);
  const int cc = place.cc.decimal();
  Both<MmaProbe<T>> exact(trial, place, outcome, {.tensor_core = emu::tensor_core_of(cc)});
  if (!exact.ran) return outcome;
  outcome.demand("tensor_core_mode", exact.template compare<float>(3));
  lab::Trial<MmaProbe<T>> plain = trial;
  if (const auto ran = lab::emulate(plain); !ran) outcome.fail("in the emulator: " + ran.error().message);
  outcome.kept["plain_mode"] = to_json(compare("d", std::span<const float>(exact.gpu.buffers[3].template as<float>()),
                                               std::span<const float>(plain.buffers[3].template as<float>())));
  return outcome;
}

}  // namespace

std::vector<Check> product_checks() {
  std::vector<Check> checks;
  for (const Kind& kind : kKinds) {
    checks.push_back({"products", std::string("mma_fp16_") + kind.name,
                      [&kind](const Place& p) { return product<f16>(p, kind, "mma_fp16"); }});
    checks.push_back({"products", std::string("mma_bf16_") + kind.name,
                      [&kind](const Place& p) { return product<bf16>(p, kind, "mma_bf16"); }});
  }
  return checks;
}

}  // namespace flashfit::hardware
