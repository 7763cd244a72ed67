#pragma once
// What a GPU can reach at most, measured in the run, and how close a case comes to it.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/cases.hpp"

namespace flashfit::measure {

/// The best of some samples: clocks fall under load, and a short case may run before they do.
struct Ceiling {
  double model = 0;             ///< from the table of GPUs
  std::vector<double> samples;  ///< in the unit of the ceiling
  double value() const;
  /// What nothing passes: the larger of both. A loop that measures may stay below what a kernel reaches.
  double limit() const { return std::max(model, value()); }
};

struct Ceilings {
  std::map<std::string, Ceiling> tensor_tflops;    ///< by dtype: products with fp32 accumulation
  std::map<std::string, Ceiling> mma_sync_tflops;  ///< the same by mma.sync alone, which every GPU has
  Ceiling exp_g_per_s;                             ///< 10^9 exponentials a second
  Ceiling memory_gb_per_s;                         ///< reads of memory that no cache holds
};

/// Microseconds that a case takes at least on each unit.
struct Bound {
  double tensor = 0, exp = 0, memory = 0;
  double longest() const;
  const char* binds() const;  ///< which is the longest
};
/// Nothing for a dtype that was not measured.
std::optional<Bound> bound_of(const Case& c, const Ceilings& ceilings);

nlohmann::ordered_json json_of(const Ceilings& ceilings);
nlohmann::ordered_json json_of(const Bound& bound);

}  // namespace flashfit::measure
