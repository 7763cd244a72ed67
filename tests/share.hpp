#pragma once
// How much of what tests sample is tried where time is short.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

namespace flashfit::testing {

/// FLASHFIT_TEST_SHARE of the environment, or 1: of cases that are a sample in any case, every so many are tried. CI
/// sets it (tools/dev/run_tests.py).
inline std::size_t test_share() {
  const char* text = std::getenv("FLASHFIT_TEST_SHARE");
  const int share = text == nullptr ? 1 : std::atoi(text);
  return share > 1 ? static_cast<std::size_t>(share) : 1;
}

/// Of these cases every so many, at least one: each `place`, such as that of a kernel in its table, has others.
template <class Case>
std::vector<Case> share_of(const std::vector<Case>& all, std::size_t place) {
  const std::size_t each = std::min(test_share(), all.size());
  std::vector<Case> some;
  for (std::size_t i = place % each; i < all.size(); i += each) some.push_back(all[i]);
  return some;
}

}  // namespace flashfit::testing
