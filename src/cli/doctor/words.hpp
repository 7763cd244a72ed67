#pragma once
// Words that the texts of `doctor` and `choose` share.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/doctor/report.hpp"

namespace flashfit::cli {

/// In the verdict's colour, if the style has colours.
std::string painted(const std::string& text, doctor::Verdict verdict, TextStyle style);
/// The target's file name, printable.
std::string name_of(const doctor::TargetReport& r);
/// " on L40 (8.9)"; "" in a survey, or where no GPU is asked for.
std::string for_gpus(const DoctorReport& report);
/// "X does not fit on L40 (8.9)".
std::string sentence(const doctor::TargetReport& r, const DoctorReport& report);
/// The command that mends it, else what to look for, in a line or two; "" if neither is known.
std::string mend_lines(const doctor::TargetReport& r);
/// A line for each problem; without TextStyle::verbose the first twelve, those that differ in their members alone as
/// one, and no notes. `lines`: of a list of requests.
std::string problem_lines(const doctor::TargetReport& r, TextStyle style, std::span<const std::uint32_t> lines = {});
/// Problems that differ in their members alone, in one line.
struct GroupedProblems {
  std::string line;   ///< "a.so, b.so and 2 more: FF402 built for another PyTorch: ..."
  std::size_t count;  ///< of the problems
};
std::vector<GroupedProblems> grouped(const std::vector<doctor::Problem>& problems);
/// "asked: ..." and a line for each thing that was assumed.
std::string asked_lines(const DoctorReport& report);
/// A path, no longer than a line bears.
std::string path_words(const std::string& path);

}  // namespace flashfit::cli
