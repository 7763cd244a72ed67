#pragma once
// One run as its result file holds it (docs/results.md), read by `compare` and `report`.
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "measure/stats.hpp"

namespace flashfit::results {

/// The schema that this reads; docs/results.md describes it.
inline constexpr int kResultSchema = 1;

using measure::Interval;  ///< of a quantity, 95 %: low <= high

/// Times of one call, in microseconds, one a repeat; never empty.
struct Timing {
  std::vector<double> samples_us;
  double median_us = 0;
  Interval interval_us;
};

struct PeerResult {
  std::string name;
  bool correct = false;
  std::string message;  ///< the peer's own words where it is not correct
  std::optional<Timing> timing;
  std::optional<double> ratio;  ///< its time over flashfit's
  std::optional<Interval> ratio_interval;
};

struct ResultProblem {
  std::string dtype, memory;
  std::int64_t head_dim = 0, head_dim_v = 0, heads_q = 0, heads_kv = 0;
  bool causal = false;
  std::optional<double> softmax_scale;
  std::int64_t batch = 0, seqlen_q = 0, seqlen_k = 0;  ///< 0 of variable length
  std::vector<std::int64_t> lengths_q, lengths_k;      ///< empty but of variable length
  std::map<std::string, std::string> options;          ///< what else is asked, as the file's JSON: window, softcap, ...

  bool operator==(const ResultProblem&) const = default;
};

struct CaseResult {
  std::string name, group, launch;
  ResultProblem problem;
  bool correct = false;
  std::string message;           ///< why it is not correct
  std::optional<Timing> timing;  ///< none of a case that is not correct
  std::optional<double> flop, bytes, share, error, error_bound;
  std::string binds;  ///< which bound is largest: tensor, exp or memory; "" if unknown
  std::optional<double> clock_mhz;
  std::vector<std::string> throttled;
  std::vector<PeerResult> peers;

  /// Null if the case was not tried beside it.
  const PeerResult* peer(std::string_view peer_name) const;
};

struct ResultGpu {
  std::string name, compute_capability;
  std::optional<double> sms, clock_max_mhz, memory_clock_max_mhz, power_limit_w;
};

struct ResultFile {
  std::string at, revision;  ///< when (UTC, ISO 8601) and from what it was made; "" if unknown
  bool complete = true;
  std::string cpu;
  std::int64_t cores = 0;
  std::optional<ResultGpu> gpu;
  std::map<std::string, std::string> versions;
  std::string l2, clock;
  std::optional<double> noise;  ///< 95 % half-width of the ratio of a case to itself
  std::vector<CaseResult> cases;
  nlohmann::ordered_json json;  ///< all of it, as it was

  /// Null if there is none of that name.
  const CaseResult* find(std::string_view name) const;
};

/// The result that `text` holds. Code::kInvalidArgument with one line that says where it breaks docs/results.md.
Result<ResultFile> parse_result(std::string_view text);
/// The same of a file, with its path in front of the line.
Result<ResultFile> read_result(const std::string& path);

}  // namespace flashfit::results
