#include "cli/emulator_options.hpp"

#include <algorithm>
#include <limits>
#include <thread>

#include "cli/options.hpp"
#include "cli/pick.hpp"

namespace flashfit::cli {
namespace {

struct NamedSchedule {
  const char* name;
  emu::Schedule schedule;
};
constexpr NamedSchedule kSchedules[] = {{"round-robin", emu::Schedule::kRoundRobin},
                                        {"reversed", emu::Schedule::kReversed},
                                        {"random", emu::Schedule::kRandom}};

}  // namespace

void EmulatorOptions::add_to(CLI::App& app) {
  app.add_option("--schedule", schedule, "who runs when a thread waits: random (default), round-robin or reversed");
  add_whole_number(app, "--seed", seed, 0, std::numeric_limits<std::uint32_t>::max(),
                   "of the random schedule; the same seed, the same run (default 1)");
  add_whole_number(app, "--repeat", repeat, 1, 100000, "runs, each with the next seed (default 1)");
  add_whole_number(app, "--threads", threads, 1, 256, "host threads (default: as many as there are cores)");
  app.add_flag("--json", json, "a list of objects, one a run");
}

std::vector<emu::Options> EmulatorOptions::runs(std::size_t shared_limit) const {
  emu::Options first;
  first.schedule = pick(kSchedules, "--schedule", schedule).schedule;
  first.shared_limit = shared_limit;
  first.host_threads =
      threads != 0 ? static_cast<int>(threads) : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<emu::Options> all;
  for (std::int64_t i = 0; i < repeat; ++i) {
    all.push_back(first);
    all.back().seed = static_cast<std::uint32_t>(seed + i);
  }
  return all;
}

}  // namespace flashfit::cli
