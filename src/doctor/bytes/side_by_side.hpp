#pragma once
// Work on many items by a few threads.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace flashfit::doctor {

/// Two, or one where the machine has no more: what is read in one go is one stream, so that more threads help little
/// and cost memory.
inline unsigned worker_count() { return std::clamp(std::thread::hardware_concurrency(), 1U, 2U); }

/// Calls work(i) for each i below `count`, in order of their start, on as many threads as `workers` says. `work` does
/// not throw but for lack of memory.
template <class Work>
void side_by_side(std::size_t count, unsigned workers, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  for (unsigned w = 1; w < workers && w < count; ++w) others.emplace_back(run);
  run();
}

}  // namespace flashfit::doctor
