#include "cli/doctor_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/doctor_words.hpp"
#include "cli/table.hpp"

namespace flashfit::cli {
namespace {

using inspect::Binary;
using inspect::Coverage;
using inspect::TargetReport;

constexpr std::size_t kMostRows = 400;

std::string cell(const Coverage& c) {
  const char* const best = name_of(c.summary.best);
  const bool all = c.summary.covered == c.containers || c.summary.covered == 0;
  return all ? best : fmt::format("{} {} of {}", best, c.summary.covered, c.containers);
}

}  // namespace

std::string gpu_table(const TargetReport& r, const DoctorReport& report) {
  const auto& gpus = report.question.gpus;
  if (gpus.size() < 2) return "";
  std::vector<std::vector<std::string>> rows;
  for (const auto& gpu : gpus) {
    std::size_t all = 0, covered = 0;
    inspect::Best best = inspect::Best::kNo;
    for (const auto& binary : r.target.binaries) {
      const Coverage c = cover(binary, gpu, report.question.driver);
      all += c.containers;
      covered += c.summary.covered;
      best = std::max(best, c.summary.best);
    }
    if (all == 0) return "";
    rows.push_back({gpu.asked, report.question.survey ? gpu.gpu.name : gpu.gpu.cc.str(), name_of(best),
                    fmt::format("{} of {}", covered, all)});
  }
  return table({{report.question.survey ? "cc" : "gpu"},
                {report.question.survey ? "such as" : "cc"},
                {"runs"},
                {"containers", true}},
               rows);
}

std::string binary_table(const TargetReport& r, const DoctorReport& report) {
  const auto& gpus = report.question.gpus;
  const auto has_code = [](const Binary& b) { return !b.containers.empty(); };
  const auto count =
      static_cast<std::size_t>(std::count_if(r.target.binaries.begin(), r.target.binaries.end(), has_code));
  if (gpus.empty() || count == 0) return "";
  std::vector<Column> columns{{"binary"}, {"containers", true}};
  for (const auto& gpu : gpus) columns.push_back({gpu.asked});
  std::vector<std::vector<std::string>> rows;
  for (const Binary& binary : r.target.binaries) {
    if (!has_code(binary) || rows.size() == kMostRows) continue;
    auto& row = rows.emplace_back();
    row.push_back(path_words(binary.path.empty() ? r.target.file_name : binary.path));
    row.emplace_back();
    for (const auto& gpu : gpus) {
      const Coverage c = cover(binary, gpu, report.question.driver);
      row[1] = std::to_string(c.containers);
      row.push_back(c.containers == 0 ? "-" : cell(c));
    }
  }
  std::string out = table(columns, rows);
  if (count > kMostRows) out += fmt::format("and {} more binaries: --json has them all\n", count - kMostRows);
  return out;
}

}  // namespace flashfit::cli
