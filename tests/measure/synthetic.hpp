#pragma once
// Result files out of thin air: runs whose true times, noise and drift are known.
#include <random>
#include <string>
#include <vector>

#include "measure/result_file.hpp"

namespace flashfit::results {

/// One case of a made run. Times scatter by `spread`; a peer of the same noise stands beside it if it has a time.
struct Made {
  std::string name;
  double us = 100;
  double peer_us = 0;    ///< 0: no peer
  double spread = 0.01;  ///< standard deviation, as a share
  int repeats = 60;
};

class Synthetic {
 public:
  explicit Synthetic(std::uint64_t seed) : random_(seed) {}

  /// A run of a machine that is `drift` times as slow as it should be.
  ResultFile run(const std::vector<Made>& cases, double drift = 1) {
    ResultFile file{.at = "2026-11-21T20:00:00Z", .revision = "abc", .complete = true, .cpu = "made", .cores = 2};
    file.gpu = ResultGpu{.name = "NVIDIA H200", .compute_capability = "9.0", .sms = 132, .clock_max_mhz = 1980};
    file.versions = {{"torch", "2.13.0"}};
    file.l2 = "flushed";
    file.clock = "events";
    file.noise = 0.005;
    for (const Made& made : cases) file.cases.push_back(one(made, drift));
    return file;
  }

  Timing times(double us, double spread, int repeats) {
    std::normal_distribution<double> noise(1, spread);
    std::vector<double> samples;
    for (int i = 0; i < repeats; ++i) samples.push_back(us * noise(random_));
    const double middle = measure::median(samples);
    const Interval interval = measure::median_interval(samples);
    return {.samples_us = std::move(samples), .median_us = middle, .interval_us = interval};
  }

 private:
  CaseResult one(const Made& made, double drift) {
    CaseResult c{.name = made.name, .group = "grid", .launch = "graph", .correct = true};
    c.problem = {
        .dtype = "fp16", .head_dim = 64, .heads_q = 8, .heads_kv = 8, .batch = 1, .seqlen_q = 512, .seqlen_k = 512};
    c.timing = times(made.us * drift, made.spread, made.repeats);
    c.clock_mhz = 1980;
    if (made.peer_us > 0) {
      PeerResult peer{.name = "sdpa-flash", .correct = true, .message = ""};
      peer.timing = times(made.peer_us * drift, made.spread, made.repeats);
      const measure::Ratio ratio = measure::paired_ratio(peer.timing->samples_us, c.timing->samples_us);
      peer.ratio = ratio.value;
      peer.ratio_interval = ratio.interval;
      c.peers.push_back(std::move(peer));
    }
    return c;
  }

  std::mt19937_64 random_;
};

}  // namespace flashfit::results
