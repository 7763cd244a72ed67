// flashfit gpus: what this machine has. A machine without a GPU is an answer, not an error.
#include <fmt/format.h>

#include <memory>

#include "cli/command.hpp"
#include "cli/indented.hpp"
#include "cli/table.hpp"
#include "core/gpu/device.hpp"
#include "core/gpu/driver_versions.hpp"
#include "runtime/api/reports.hpp"

namespace flashfit::cli {
namespace {

void print_json() { fmt::print("{}\n", indented(api::gpus_json().value())); }

void print_text(const Machine& m) {
  std::vector<std::vector<std::string>> rows;
  for (const Gpu& g : m.gpus)
    rows.push_back({g.name, g.cc.str(), std::to_string(g.sms), human_bytes(g.shared_bytes_block),
                    human_bytes(g.shared_bytes_sm), fmt::format("{:.2f}", g.clock_ghz),
                    fmt::format("{:.0f}", g.dram_gb_s)});
  if (!rows.empty())
    fmt::print("{}", table({{"gpu"},
                            {"cc"},
                            {"SMs", true},
                            {"shared/block", true},
                            {"shared/SM", true},
                            {"GHz", true},
                            {"DRAM GB/s", true}},
                           rows));
  if (!m.no_gpu_reason.empty()) fmt::print("{}: {}\n", m.gpus.empty() ? "no GPU" : "not every GPU", m.no_gpu_reason);
  if (m.cuda)
    fmt::print("driver {}, CUDA {}\n", m.driver_version.empty() ? "of unknown release" : m.driver_version, str(m.cuda));
}

}  // namespace

void add_gpus(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand("gpus", "The GPUs and the driver of this machine.");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "one object: gpus, driver, cuda, no_gpu_reason");
  command->footer("\nExample:\n  flashfit gpus --json");
  command->callback([json, &status] {
    *json ? print_json() : print_text(this_machine());
    status = kOk;
  });
}

}  // namespace flashfit::cli
