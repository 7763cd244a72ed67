#pragma once
// The doctor's reports for other programs than people's eyes: GitHub's annotations and SARIF.
#include <string>
#include <vector>

#include "cli/doctor/report.hpp"

namespace flashfit::cli {

/// One machine of a fleet, or the only one, whose name is "".
struct MachineReport {
  std::string name;
  DoctorReport report;
};

/// The worst of all machines.
doctor::Verdict worst(const std::vector<MachineReport>& machines);

/// GitHub's workflow commands, one a problem, and a line with the verdict. Every line begins with what this program
/// writes, so that no name in a file can be a command. `notes`: notes too.
std::string doctor_github(const std::vector<MachineReport>& machines, bool notes);

/// SARIF 2.1.0: one run, a rule for each code that occurs. `status` is the command's.
nlohmann::ordered_json doctor_sarif(const std::vector<MachineReport>& machines, int status);

/// A text with what it lacks for people: each machine of a fleet under its name.
std::string fleet_text(const std::vector<MachineReport>& machines, TextStyle style);
/// docs/doctor.md, "JSON": the schema of a fleet.
std::string fleet_json(const std::vector<MachineReport>& machines);

/// The line of a target that a problem is about; 0: none.
std::uint32_t line_of(const DoctorReport& report, std::size_t target, std::size_t problem);

/// A problem in one line: machine, member, message and what would fit, as far as each is there.
std::string message_of(const MachineReport& machine, const doctor::Problem& problem);

/// "error" or "warning", as GitHub and SARIF both say; of a note, what the one who asks calls it.
const char* level_of(doctor::Severity severity, const char* note);

}  // namespace flashfit::cli
