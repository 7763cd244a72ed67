#include "bench/profile.hpp"

#include <fcntl.h>
#include <flashfit/flashfit.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <vector>

#include "bench/call.hpp"

namespace flashfit::bench {
namespace {

using Json = nlohmann::ordered_json;

// Of Nsight Compute's metrics reference: how busy each unit was, and for what warps waited, per instruction issued.
constexpr std::array kMetrics = {
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.max",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "l1tex__data_bank_reads.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes.sum",
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
};

/// What the program writes to standard output. Error: it does not start, or its status is not 0.
Result<std::string> output_of(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Code::kInternal, "no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int started = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> some{};
  while (started == 0) {
    const ssize_t n = read(ends[0], some.data(), some.size());
    if (n <= 0) break;
    text.append(some.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (started != 0) return fail(Code::kInternal, fmt::format("{} is not in the PATH", words[0]));
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(Code::kInternal, fmt::format("{} ended with status {}: {}", words[0], WEXITSTATUS(status),
                                             text.substr(0, std::min(text.find('\n'), std::size_t{200}))));
  return text;
}

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

}  // namespace

Result<std::string> ncu_version() {
  Result<std::string> text = output_of({"ncu", "--version"});
  if (!text) return text;
  const std::size_t at = text->find("Version");
  return at == std::string::npos ? fail(Code::kInternal, "ncu does not say its version")
                                 : Result<std::string>(text->substr(at, text->find_first_of(" \n", at + 8) - at));
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

Json profile_of(const Case& c) {
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  const Result<std::string> csv = output_of({"ncu",
                                             "--csv",
                                             "--page",
                                             "raw",
                                             "-k",
                                             "regex:ForwardKernel",
                                             "--launch-count",
                                             "1",
                                             "--metrics",
                                             fmt::format("{}", fmt::join(kMetrics, ",")),
                                             self,
                                             "bench",
                                             "--device",
                                             "gpu",
                                             "--group",
                                             c.group,
                                             "--filter",
                                             c.name,
                                             "--warmup",
                                             "0",
                                             "--repeats",
                                             "5",
                                             "--seconds",
                                             "1"});
  const Result<Json> counted = csv ? metrics_of(*csv) : tl::unexpected(csv.error());
  if (!counted) return {{"message", counted.error().message}};
  Json profile = {{"ncu", *counted}};
  if (const Result<flashfit_plan> plan = planned(c, 0))
    profile["model"] = {{"us", plan->modelled_us},
                        {"bound", plan->bound},
                        {"blocks_per_sm", plan->blocks_per_sm},
                        {"registers_per_thread", plan->registers_per_thread}};
  return profile;
}

}  // namespace flashfit::bench
