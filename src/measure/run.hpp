#pragma once
// A run over many cases: a result file (docs/results.md) that is valid at every moment.
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/backend.hpp"
#include "measure/cases.hpp"
#include "measure/measure.hpp"
#include "measure/roofline.hpp"

namespace flashfit::measure {

struct Run {
  std::string command;  ///< as typed
  Options options;
  nlohmann::ordered_json gpu;                                             ///< of `machine`; null without one
  std::optional<Ceilings> ceilings;                                       ///< measured before the cases
  std::string json_file, csv_file;                                        ///< written after each case; "": not
  std::function<void(std::size_t done, const std::string& name)> before;  ///< each case
  std::function<void(const nlohmann::ordered_json& result)> after;        ///< each case
  std::function<nlohmann::ordered_json(const Case&)> profile;             ///< `profile` of a case; or none
};

/// The whole file's content. Error: a file cannot be written.
Result<nlohmann::ordered_json> run_cases(const std::vector<Case>& cases, Backend& backend, const Run& run);

/// Replaces the file as a whole: readers see the old one or the new one. A pipe or a device is written to instead.
/// Error: the path and why.
Result<void> write_file(const std::string& path, const std::string& text);

/// Indented, lists of numbers in one line each.
std::string text_of(const nlohmann::ordered_json& json);

}  // namespace flashfit::measure
