#pragma once
// One case, held to fp64 and then timed. What is wrong is not timed.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/backend.hpp"
#include "measure/cases.hpp"
#include "measure/stats.hpp"

namespace flashfit::measure {

struct Options {
  int warmup = 10, repeats = 100;
  std::uint64_t seed = 1;                                    ///< of the inputs; every check takes its own
  double seconds = 20;                                       ///< a case's samples end after this, if there are five
  std::function<bool()> interrupted = [] { return false; };  ///< asked between samples
};

/// Times of one way to launch.
struct Times {
  std::vector<double> us, host_us, clock_mhz;  ///< a sample each; the last two empty where there are none
};

struct Measured {
  bool correct = false;
  std::string message;          ///< why it is not correct
  double error = 0, bound = 0;  ///< of the worse check
  std::optional<std::string> variant;
  Times times;                 ///< of Backend::launch; empty if not correct or not to be timed
  std::optional<Times> plain;  ///< beside a graph's
  std::vector<std::string> throttled;
};

/// Nothing if it was interrupted.
std::optional<Measured> measure(const Case& c, Backend& backend, const Options& options);

/// How far the ratio of a case's time to itself may be off 1, both halves interleaved.
struct Noise {
  std::string name;
  int rounds = 0;
  Ratio ratio;
  double half_width() const { return (ratio.interval.high - ratio.interval.low) / 2; }
};
std::optional<Noise> noise_of(const Case& c, Backend& backend, const Options& options);

}  // namespace flashfit::measure
