#pragma once
// Where a case runs: what the measurement asks of a CPU or a GPU. A struct of functions, so that a test can put a wrong
// one in their place.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "measure/cases.hpp"
#include "measure/placement.hpp"

namespace flashfit::measure {

/// One sample of one way to launch.
struct Sample {
  double us = 0;         ///< of one call
  double host_us = 0;    ///< of a call's part on the host; 0 where that is all of it
  double clock_mhz = 0;  ///< of an SM, right after; 0 unknown
};

enum class Launch : unsigned char {
  kHost,   ///< calls on a CPU
  kGraph,  ///< replays of a captured graph
  kPlain,  ///< launches one by one
};

struct Backend {
  Launch launch = Launch::kHost;  ///< of the times that count; on a GPU plain ones are taken too
  bool l2_flushed = false;
  std::function<Result<void>(const Case&, const Placement&)> prepare;  ///< memory for the case; the last one's is freed
  std::function<Result<void>(std::uint64_t seed)> fill;                ///< q, k and v anew; everything else poison
  std::function<Result<void>()> call;                                  ///< one call, with LSE; done on return
  /// Memory from Placement::results on: what the call left, or of several alike that a sample holds, the last one's.
  std::function<Result<std::vector<std::byte>>(bool last)> results;
  std::function<Result<Sample>(Launch)> sample;         ///< without LSE; out is poisoned before
  std::function<Result<std::string>()> variant;         ///< the plan's choice; "" on a CPU
  std::function<std::vector<std::string>()> throttled;  ///< why clocks are held back just now
};

/// This process's CPU.
Backend cpu_backend();

}  // namespace flashfit::measure
