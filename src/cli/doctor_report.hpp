#pragma once
// The doctor's reports as text, JSON and HTML.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "inspect/choose.hpp"
#include "inspect/judge.hpp"

namespace flashfit::cli {

struct DoctorReport {
  std::vector<inspect::TargetReport> targets;
  inspect::Question question;
  std::vector<std::string> assumed;
};

struct TextStyle {
  bool verbose = false;
  bool colour = false;
};
/// What `style` is for standard output: colour on a terminal alone, and not with NO_COLOR.
bool wants_colour();

std::string doctor_text(const DoctorReport& report, TextStyle style);
/// docs/doctor.md, "JSON", has the schema.
nlohmann::ordered_json doctor_json(const DoctorReport& report);
std::string doctor_html(const DoctorReport& report);
std::string choice_text(const DoctorReport& report, const inspect::Choice& choice, TextStyle style);
nlohmann::ordered_json choice_json(const DoctorReport& report, const inspect::Choice& choice);

/// Bytes that are no UTF-8 become U+FFFD.
std::string dump(const nlohmann::ordered_json& json);

/// "L40 (8.9)".
std::string gpu_words(const inspect::AskedGpu& gpu);
/// What was asked, on one line.
std::string asked_words(const DoctorReport& report);

}  // namespace flashfit::cli
