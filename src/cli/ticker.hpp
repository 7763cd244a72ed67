#pragma once
// Life of a long work that has no steps to count.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace flashfit::cli {

/// Says on a terminal what a long run is at, from the second second on.
class Ticker {
 public:
  explicit Ticker(std::string what) : what_(std::move(what)) {
    if (isatty(STDERR_FILENO) != 0) thread_ = std::thread([this] { tick(); });
  }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;
  ~Ticker() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    ended_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void tick() {
    std::unique_lock lock(mutex_);
    int seconds = 0;
    // Not wait_for: its clock asks for a function of glibc 2.30. Setting the wall clock moves a tick, which is no harm.
    const auto next = [] { return std::chrono::system_clock::now() + std::chrono::seconds(1); };
    while (!ended_.wait_until(lock, next(), [this] { return done_; }))
      fmt::print(stderr, "\r\x1b[K{}: {} s", what_, ++seconds);
    if (seconds > 0) fmt::print(stderr, "\r\x1b[K");
  }

  std::string what_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace flashfit::cli
