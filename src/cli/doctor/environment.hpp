#pragma once
// The doctor's report on an environment, as text and JSON.
#include <string>

#include "cli/doctor/report.hpp"
#include "doctor/environment/environment.hpp"

namespace flashfit::cli {

/// `report` has the packages as its targets.
std::string environment_text(const doctor::environment::Environment& found, const DoctorReport& report,
                             TextStyle style);
/// docs/environment.md, "JSON": what doctor_json has, and the object "environment".
std::string environment_json(const doctor::environment::Environment& found, const DoctorReport& report);

}  // namespace flashfit::cli
