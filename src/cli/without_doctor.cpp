// `doctor` and `choose` of a build without the doctor (FLASHFIT_DOCTOR=OFF).
#include <fmt/format.h>

#include <cstdio>

#include "cli/command.hpp"

namespace flashfit::cli {
namespace {

void add(CLI::App& app, const char* name, int& status) {
  CLI::App* command = app.add_subcommand(name, "Not in this build, which was made without the doctor.");
  command->allow_extras();
  command->callback([name, &status] {
    fmt::print(stderr, "flashfit: {}: not in this build, which was made with FLASHFIT_DOCTOR=OFF\n", name);
    status = kFailed;
  });
}

}  // namespace

void add_doctor(CLI::App& app, int& status) { add(app, "doctor", status); }
void add_choose(CLI::App& app, int& status) { add(app, "choose", status); }

}  // namespace flashfit::cli
