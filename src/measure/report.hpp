#pragma once
// `flashfit report`: one page, whole by itself, of one run or more (docs/report.md).
#include <optional>
#include <string>
#include <vector>

#include "measure/result_file.hpp"

namespace flashfit::results {

struct ReportRun {
  std::string name;  ///< what the page calls it: the file's name
  ResultFile result;
  std::optional<double> price;  ///< dollars an hour of this machine
};

/// What the page holds as JSON, and so every number that it shows: `runs`, each with its `file`, its `result` but for
/// raw samples, and what follows from it: `cases` (in the order of the result's), `peers`, `speed`, `roofline`.
/// `margin` decides verdicts over peers as in judge().
nlohmann::ordered_json report_document(const std::vector<ReportRun>& runs, double margin);

/// The page of a report_document().
std::string report_html(const nlohmann::ordered_json& document);

}  // namespace flashfit::results
