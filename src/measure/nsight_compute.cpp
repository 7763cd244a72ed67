#include "measure/nsight_compute.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "measure/program.hpp"

namespace flashfit::measure {
namespace {

using Json = nlohmann::ordered_json;

// Of Nsight Compute's metrics reference: how busy each unit was, and for what warps waited, per instruction issued.
constexpr std::array kMetrics = {
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.max",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed",
    "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "l1tex__data_bank_reads.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes.sum",
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
};

// Behind the PATH: where the toolkit's installer puts it.
constexpr std::array kPrograms = {"ncu", "/usr/local/cuda/bin/ncu"};

/// The cells of a line of CSV in which every cell is quoted.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < line.size() && line[at] == '"';) {
    const std::size_t end = line.find('"', at + 1);
    if (end == std::string::npos) break;
    found.push_back(line.substr(at + 1, end - at - 1));
    at = end + 2;
  }
  return found;
}

/// What ncu calls an error, without its mark. That the program under it ended with a status is the program's business.
std::optional<std::string> first_error(const std::string& text) {
  constexpr std::string_view kMark = "==ERROR== ";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kMark)) continue;
    line.erase(0, kMark.size());
    if (line.find("returned an error code") == std::string::npos) return line.substr(0, 200);
  }
  return std::nullopt;
}

/// One of a chip's metrics that ncu says it does not know; a chip that came after it may lack some.
bool is_refused(const char* metric, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("==") && line.find("metric") != std::string::npos && line.find(metric) != std::string::npos)
      return true;
  return false;
}

}  // namespace

Result<NsightCompute> NsightCompute::find() {
  for (const char* program : kPrograms) {
    const Result<Ended> said = run_program({program, "--version"});
    if (!said) continue;
    const std::size_t at = said->text.find("Version ");
    if (said->status != 0 || at == std::string::npos)
      return fail(Code::kMisfit,
                  fmt::format("{} --version ended with status {} and says no version", program, said->status));
    NsightCompute found;
    found.program_ = program;
    const std::size_t first = at + std::string_view("Version ").size();
    found.version_ = said->text.substr(first, said->text.find_first_of(" \r\n", first) - first);
    return found;
  }
  return fail(Code::kMisfit, fmt::format("no ncu in the PATH, and no {}", kPrograms[1]));
}

Result<Json> metrics_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);)
    if (std::vector<std::string> row = cells(line); !row.empty() && (rows.empty() || row.size() == rows[0].size()))
      rows.push_back(std::move(row));
  if (rows.size() < 3) return fail(Code::kInternal, "ncu counted nothing of the kernel");
  Json found = Json::object();
  for (const char* metric : kMetrics) {
    const auto column = std::find(rows[0].begin(), rows[0].end(), metric);
    if (column == rows[0].end()) continue;
    const auto i = column - rows[0].begin();
    std::string number = rows[2][i];
    std::erase(number, ',');
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (end != number.c_str()) found[metric] = {{"value", value}, {"unit", rows[1][i]}};
  }
  return found;
}

Result<Json> NsightCompute::count(const std::string& kernel, const std::vector<std::string>& command) const {
  std::vector<std::string> metrics(kMetrics.begin(), kMetrics.end());
  for (bool again = true; again;) {
    again = false;
    // Clocks are left as they are when the case is timed. The function's plain name is the same for all our kernels:
    // the argument of the template tells them apart.
    std::vector<std::string> words = {program_,
                                      "--csv",
                                      "--page",
                                      "raw",
                                      "--print-units",
                                      "base",
                                      "--clock-control",
                                      "none",
                                      "--kernel-name-base",
                                      "demangled",
                                      "--kernel-name",
                                      "regex:" + kernel,
                                      "--launch-count",
                                      "1",
                                      "--metrics",
                                      fmt::format("{}", fmt::join(metrics, ","))};
    words.insert(words.end(), command.begin(), command.end());
    const Result<Ended> ran = run_program(words);
    if (!ran) return fail(Code::kMisfit, ran.error().message);
    if (Result<Json> found = metrics_of(ran->text); found && !found->empty()) return found;
    if (ran->text.find("ERR_NVGPUCTRPERM") != std::string::npos)
      return fail(Code::kMisfit,
                  "ncu may not read this GPU's counters (ERR_NVGPUCTRPERM): run as root, or let the administrator load "
                  "the driver with NVreg_RestrictProfilingToAdminUsers=0");
    const auto known = std::remove_if(metrics.begin(), metrics.end(),
                                      [&](const std::string& m) { return is_refused(m.c_str(), ran->text); });
    again = known != metrics.end() && known != metrics.begin();
    metrics.erase(known, metrics.end());
    if (again) continue;
    if (const std::optional<std::string> error = first_error(ran->text))
      return fail(Code::kMisfit, "ncu cannot count here: " + *error);
  }
  return fail(Code::kInternal, "ncu counted nothing of the kernel");
}

}  // namespace flashfit::measure
