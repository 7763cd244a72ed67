// What a call costs before its kernel is launched: `call_cost` prints nanoseconds a call, the fastest and the median of
// 31 rounds. GPU tensors go to the fake driver's GPU, images and launch are doubles, so that what is timed is flashfit.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "gpu_double.hpp"
#include "runtime/api/attention/tensor_check.hpp"
#include "tensors.hpp"

namespace flashfit::test {
namespace {

template <class Body>
void time(const char* what, Body body) {
  constexpr int kRounds = 31, kCalls = 20000;
  std::vector<double> nanoseconds;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) body();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    nanoseconds.push_back(took.count() / kCalls);
  }
  std::ranges::sort(nanoseconds);
  std::printf("%-44s %6.0f %6.0f\n", what, nanoseconds.front(), nanoseconds[kRounds / 2]);
}

void run() {
  Call gpu = Call::dense(DType::kF16, 2, 512, 512, 8, 8, 64), none = Call::dense(DType::kF16, 2, 0, 512, 8, 8, 64);
  Call ragged = Call::ragged({0, 100, 512}, {0, 100, 512}, DType::kF16, 8, 8, 64);
  gpu_double::recording = false;
  gpu.pretend_gpu();
  ragged.pretend_gpu();
  std::printf("%-44s %6s %6s\n", "ns a call", "least", "median");
  time("check of dense GPU tensors", [&] { (void)api::check_forward(&gpu.args); });
  time("call, dense GPU tensors, to launch()", [&] { gpu.run(); });
  time("call, variable length, to launch()", [&] { ragged.run(); });
  time("call, CPU tensors without rows", [&] { none.run(); });
  if (gpu.run() || ragged.run() || none.run()) std::printf("%s\n", flashfit_last_error());
}

}  // namespace
}  // namespace flashfit::test

int main() { flashfit::test::run(); }
