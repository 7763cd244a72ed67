#pragma once
// How much of what tests sample is tried where time is short.
#include <cstddef>
#include <cstdlib>

namespace flashfit::testing {

/// FLASHFIT_TEST_SHARE of the environment, or 1: of cases that are a sample in any case, every so many are tried. CI
/// sets it (tools/dev/run_tests.py).
inline std::size_t test_share() {
  const char* text = std::getenv("FLASHFIT_TEST_SHARE");
  const int share = text == nullptr ? 1 : std::atoi(text);
  return share > 1 ? static_cast<std::size_t>(share) : 1;
}

}  // namespace flashfit::testing
