#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>

namespace flashfit::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Line {
  std::mutex mutex;
  Clock::time_point next = Clock::now() + std::chrono::seconds(1);
  bool shown = false;

  ~Line() { clear(); }
  void clear() {
    if (shown) std::fputs("\r\x1b[K", stderr);
    shown = false;
  }
  void show(std::uint64_t done, std::uint64_t all) {
    const std::scoped_lock lock(mutex);
    if (done >= all) return clear();
    if (Clock::now() < next) return;
    next = Clock::now() + std::chrono::milliseconds(200);
    fmt::print(stderr, "\r{:3} % of {} MB read", all == 0 ? 100 : done * 100 / all, all >> 20);
    std::fflush(stderr);
    shown = true;
  }
};

}  // namespace

doctor::Progress progress_line() {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [line = std::make_shared<Line>()](std::uint64_t done, std::uint64_t all) { line->show(done, all); };
}

}  // namespace flashfit::cli
