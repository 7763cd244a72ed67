#pragma once
// flashfit doctor --error: a pasted error instead of, or beside, targets.
#include <nlohmann/json.hpp>
#include <string>

#include "cli/doctor/options.hpp"
#include "cli/doctor/report.hpp"
#include "doctor/pasted/answer.hpp"

namespace flashfit::cli {

/// Answers DoctorOptions::error and returns the exit status: kDoesNotFit where a cause was found, else kUsage.
int doctor_error(const DoctorOptions& options);

/// `report` has the question and what of it was assumed; its targets are the answer's.
std::string error_text(const doctor::pasted::Answer& answer, const DoctorReport& report, TextStyle style);
/// docs/errors.md, "JSON", has the schema.
nlohmann::ordered_json error_json(const doctor::pasted::Answer& answer, const DoctorReport& report);

}  // namespace flashfit::cli
