#include "doctor/facts/read_parts.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numeric>

#include "doctor/bytes/side_by_side.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::size_t kMostErrors = 20;

}  // namespace

std::vector<std::size_t> read_parts(const std::vector<std::uint64_t>& sizes,
                                    const std::function<Part(std::size_t)>& read, const Progress& progress,
                                    Target& target) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  const std::uint64_t all = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  std::vector<Part> parts(sizes.size());
  std::atomic<std::uint64_t> done{0};
  side_by_side(order.size(), worker_count(), [&](std::size_t i) {
    parts[order[i]] = read(order[i]);
    const std::uint64_t now = done += sizes[order[i]];
    if (progress) progress(now, all);
  });
  std::vector<std::size_t> packages;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::move(parts[i].binaries.begin(), parts[i].binaries.end(), std::back_inserter(target.binaries));
    if (!parts[i].error.empty() && target.errors.size() < kMostErrors) target.errors.push_back(parts[i].error);
    if (parts[i].package) packages.push_back(i);
  }
  return packages;
}

}  // namespace flashfit::doctor
