#include "cli/doctor/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/doctor/words.hpp"
#include "cli/table.hpp"

namespace flashfit::cli {
namespace {

using doctor::Binary;
using doctor::GpuCoverage;
using doctor::TargetReport;

constexpr std::size_t kMostRows = 400;

std::string cell(const GpuCoverage& c, std::size_t containers) {
  if (containers == 0) return "-";
  const bool all = c.covered == containers || c.covered == 0;
  return all ? name_of(c.best) : fmt::format("{} {} of {}", name_of(c.best), c.covered, containers);
}

}  // namespace

std::string gpu_table(const TargetReport& r, const DoctorReport& report) {
  const auto& gpus = report.question.gpus;
  if (gpus.size() < 2) return "";
  std::size_t all = 0;
  for (const Binary& binary : r.target.binaries) all += counted_containers(binary);
  if (all == 0) return "";
  std::vector<std::vector<std::string>> rows;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const auto& gpu = gpus[g];
    std::size_t covered = 0;
    doctor::Best best = doctor::Best::kNo;
    for (const auto& row : r.coverage) {
      covered += row[g].covered;
      best = std::max(best, row[g].best);
    }
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
  for (std::size_t b = 0; b < r.target.binaries.size(); ++b) {
    const Binary& binary = r.target.binaries[b];
    if (!has_code(binary) || rows.size() == kMostRows) continue;
    const std::size_t containers = counted_containers(binary);
    auto& row = rows.emplace_back();
    row.push_back(path_words(binary.path.empty() ? r.target.file_name : binary.path));
    row.push_back(std::to_string(containers));
    for (const GpuCoverage& c : r.coverage[b]) row.push_back(cell(c, containers));
  }
  std::string out = table(columns, rows);
  if (count > kMostRows) out += fmt::format("and {} more binaries: --json has them all\n", count - kMostRows);
  return out;
}

}  // namespace flashfit::cli
