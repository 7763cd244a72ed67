#pragma once
// Numbers of a page: each is taken from the page's JSON, and names the place.
#include <nlohmann/json.hpp>
#include <string>

namespace flashfit::results {

enum class Looks {
  kPlain,    ///< four digits that matter
  kRatio,    ///< two places
  kPercent,  ///< a share as per cent, one place
  kError,    ///< a power of ten
  kCount,    ///< whole
};

/// The number at `place`, a JSON pointer into `document`, as `<data value="PLACE">TEXT</data>`; a dash where it is null
/// or missing.
std::string figure(const nlohmann::ordered_json& document, const std::string& place, Looks looks = Looks::kPlain);

/// The same of two ends: "low to high" in small print.
std::string figure_interval(const nlohmann::ordered_json& document, const std::string& place,
                            Looks looks = Looks::kPlain);

/// `key` as a step of a JSON pointer.
std::string step(const std::string& key);

}  // namespace flashfit::results
