// The kernel of docs/writing-a-kernel.md.
#include "hardware/both.hpp"
#include "trial.hpp"

namespace flashfit::hardware {
namespace {

Outcome gemm(const Place& place) {
  constexpr int kM = 300, kN = 200, kK = 320;
  Outcome outcome;
  Both<example::Gemm> both(example::gemm_trial(kM, kN, kK), place, outcome);
  if (!both.ran) return outcome;
  outcome.demand("gpu_and_emulator", both.compare<float>(2));
  if (const std::string wrong = example::mistake(both.gpu, kM, kN, kK); !wrong.empty()) outcome.fail("GPU: " + wrong);
  return outcome;
}

}  // namespace

std::vector<Check> example_checks() { return {{"example", "gemm", gemm}}; }

}  // namespace flashfit::hardware
