#pragma once
// The subcommands. Each adds itself to the application and, when it runs, leaves its exit status.
#include <CLI/CLI.hpp>

namespace flashfit::cli {

/// Exit statuses, the same for every subcommand.
inline constexpr int kOk = 0;
inline constexpr int kDoesNotFit = 1;  ///< the answer is no: a GPU asked for by name does not fit, or none of all does
inline constexpr int kSlower = 1;      ///< compare: slower, or wrong
inline constexpr int kFinding = 1;     ///< emulate: a finding, or wrong numbers
inline constexpr int kWrong = 1;       ///< bench: a case is wrong
inline constexpr int kUsage = 2;       ///< a wrong option or value; one line on stderr names it
inline constexpr int kFailed = 3;      ///< the answer could not be written, or memory ran out

void add_explain(CLI::App& app, int& status);
void add_images(CLI::App& app, int& status);
void add_gpus(CLI::App& app, int& status);
void add_doctor(CLI::App& app, int& status);
void add_choose(CLI::App& app, int& status);
void add_emulate(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);
void add_compare(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);

}  // namespace flashfit::cli
