// flashfit_agreement: what this machine's GPU answers, beside the emulator. docs/emulator.md says what is compared and
// how to run it. Exit status: 0 all agree, 1 something does not, 2 wrong use or no GPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>

#include "hardware/worker.hpp"

namespace flashfit::hardware {
namespace {

struct Options {
  std::string json, revision = "unknown";
  std::vector<std::string> only;
  int device = 0, rehearsal = 0;
  double seconds = 120;
  bool list = false;
};

/// What a program prints; "" if there is no such program.
std::string output_of(const char* command) {
  std::string text;
  if (FILE* pipe = popen(command, "r")) {
    std::array<char, 256> buffer;
    while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), n);
    pclose(pipe);
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

constexpr const char* kClocks =
    "nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.draw,temperature.gpu "
    "--format=csv,noheader 2>/dev/null";

std::vector<Check> chosen(const std::vector<std::string>& only) {
  std::vector<Check> all;
  for (auto* part : {map_checks, scalar_checks, matrix_checks, sync_checks, product_checks, example_checks,
                     forward_checks, route_checks, experts_checks})
    for (Check& check : part())
      if (only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& name) {
            return (check.part + "/" + check.name).find(name) != std::string::npos;
          }))
        all.push_back(std::move(check));
  return all;
}

int run(const Options& options) {
  const std::vector<Check> checks = chosen(options.only);
  if (checks.empty()) {
    fmt::print(stderr, "flashfit_agreement: --only '{}' is part of no check's name; see --list\n",
               fmt::join(options.only, "', '"));
    return 2;
  }
  if (options.list) {
    for (const Check& check : checks) fmt::print("{}/{}\n", check.part, check.name);
    return 0;
  }
  std::ofstream out;
  if (!options.json.empty()) {
    out.open(options.json);
    if (!out) {
      fmt::print(stderr, "flashfit_agreement: --json {}: cannot be written\n", options.json);
      return 2;
    }
  }
  Json found = {{"revision", options.revision}, {"gpu", nullptr}, {"nvidia_smi", output_of(kClocks)}};
  found["checks"] = Json::array();
  int failed = 0;
  const auto describe = [&](const Json& gpu) {
    found["gpu"] = gpu;
    fmt::print("{} ({}), CUDA {}\n", gpu["name"].get<std::string>(), gpu["compute_capability"].get<std::string>(),
               gpu["driver_cuda_version"].get<int>());
  };
  const auto done = [&](const Finished& f) {
    failed += !f.outcome.passed;
    found["checks"].push_back({{"part", f.check.part},
                               {"check", f.check.name},
                               {"passed", f.outcome.passed},
                               {"message", f.outcome.message},
                               {"seconds", std::round(f.seconds * 1000) / 1000},
                               {"found", f.outcome.kept}});
    fmt::print("{}  {:<9} {} ({:.1f} s){}{}\n", f.outcome.passed ? "agrees" : "DIFFERS", f.check.part, f.check.name,
               f.seconds, f.outcome.passed ? "" : ": ", f.outcome.message);
    std::fflush(stdout);
    if (out) {  // after each check: what is found survives whatever follows
      out.seekp(0);
      out << found.dump(1) << '\n' << std::flush;
    }
  };
  std::fflush(stdout);
  if (const Result<void> ran = run_checks(checks, options.device, {options.rehearsal / 10, options.rehearsal % 10},
                                          options.seconds, describe, done);
      !ran) {
    fmt::print(stderr, "flashfit_agreement: {}\n", ran.error().message);
    return 2;
  }
  fmt::print("{} checks, {} differ\n", checks.size(), failed);
  return failed == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Compares this machine's GPU with the emulator: fragment maps, scalar functions, products, kernels.",
               "flashfit_agreement");
  app.add_option("--json", options.json, "write all that is found to this file, after each check");
  app.add_option("--only", options.only, "checks whose PART/NAME contains this; may be repeated");
  app.add_option("--revision", options.revision, "what the file is to say that was built");
  app.add_option("--device", options.device, "the GPU (default 0)");
  app.add_option("--seconds", options.seconds, "most that one check may take (default 120)");
  app.add_option("--rehearse", options.rehearsal,
                 "no GPU: the emulator in its place, as of this compute capability (90 is 9.0)")
      ->check(CLI::Range(75, 129));
  app.add_flag("--list", options.list, "name the checks, run none");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "flashfit_agreement: {}\n", error.what());
    return 2;
  }
  return run(options);
}

}  // namespace
}  // namespace flashfit::hardware

int main(int argc, char** argv) {
  try {
    return flashfit::hardware::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flashfit_agreement: %s\n", error.what());
    return 1;
  }
}
