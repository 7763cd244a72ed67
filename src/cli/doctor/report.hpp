#pragma once
// The doctor's reports as text, JSON and HTML.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctor/examine/choose.hpp"
#include "doctor/rules/judge.hpp"

namespace flashfit::cli {

/// What a list of requests has beyond other targets.
struct ListNotes {
  std::string kind, basis;           ///< "requirements"; what was judged by name
  std::vector<std::uint32_t> lines;  ///< of each problem; 0: about no line
};

struct DoctorReport {
  std::vector<doctor::TargetReport> targets;
  doctor::Question question;
  std::vector<std::string> assumed;
  std::vector<ListNotes> lists;  ///< of each target, those of no list empty; none at all if there is no list
};

struct TextStyle {
  bool verbose = false;
  bool colour = false;
};
/// What `style` is for standard output: colour on a terminal alone, and not with NO_COLOR.
bool wants_colour();

std::string doctor_text(const DoctorReport& report, TextStyle style);
/// docs/doctor.md, "JSON", has the schema.
/// `more` has keys to add, or to write instead.
std::string doctor_json(const DoctorReport& report,
                        const nlohmann::ordered_json& more = nlohmann::ordered_json::object());
/// Each with "code", "severity", "message", "member" and "fix".
nlohmann::ordered_json problems_json(const std::vector<doctor::Problem>& problems);
/// One page each, without tokens, credentials and home folders, whose codes are links to their pages in it: the matrix
/// of files and GPUs; a report that is text.
std::string doctor_html(const DoctorReport& report);
std::string text_html(std::string_view report);
/// Writes `page` to `file`; false, said in one line, where it cannot be written.
bool wrote_html(const std::string& file, const std::string& page);
std::string choice_text(const DoctorReport& report, const doctor::Choice& choice, TextStyle style);
nlohmann::ordered_json choice_json(const DoctorReport& report, const doctor::Choice& choice);

/// Bytes that are no UTF-8 become U+FFFD.
std::string dump(const nlohmann::ordered_json& json);

/// "L40 (8.9)".
std::string gpu_words(const doctor::AskedGpu& gpu);
/// What was asked, on one line.
std::string asked_words(const DoctorReport& report);

}  // namespace flashfit::cli
