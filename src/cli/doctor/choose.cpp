// flashfit choose: which of several wheels to take.
#include "doctor/examine/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/command.hpp"
#include "cli/doctor/options.hpp"
#include "cli/doctor/report.hpp"
#include "cli/doctor/torch.hpp"
#include "cli/options.hpp"
#include "core/base/ascii.hpp"

namespace flashfit::cli {
namespace {

constexpr char kExample[] = R"(
Examples:
  flashfit choose *.whl --gpu L40 --python 3.11 --driver 550
  flashfit choose *.whl --gpu T4 --gpu H100 --gpu "rtx 5090"
  flashfit choose --python 3.11 --torch 2.7.1+cu126 < names.txt
Exit status: 0 one or a set fits, 1 none, 2 wrong use, 3 not written.)";

constexpr std::size_t kLongestLine = 4096, kMostNames = 100'000;

/// The wheel's name in a line of a release page: the last part of an address, without what follows '#' or '?'. "" if
/// the line has none.
std::string name_in(std::string_view line) {
  line = trimmed(line.substr(0, kLongestLine));
  const std::size_t end = line.find(".whl");
  if (end == std::string_view::npos) return "";
  line = line.substr(0, end + 4);
  return std::string(line.substr(line.find_last_of("/ \t\"'>(") + 1));
}

std::vector<std::string> names_from_input() {
  std::vector<std::string> names;
  for (std::string line; names.size() < kMostNames && std::getline(std::cin, line);)
    if (std::string name = name_in(line); !name.empty()) names.push_back(std::move(name));
  return names;
}

int run(const DoctorOptions& options) {
  DoctorReport report;
  std::vector<std::string> files, names;
  for (const std::string& target : options.targets) {
    std::error_code error;
    const bool there = std::filesystem::exists(target, error);
    (there || !target.ends_with(".whl") ? files : names).push_back(target);
  }
  if (options.targets.empty()) names = names_from_input();
  if (files.empty() && names.empty()) wrong("choose: no target, and no name of a wheel on standard input");
  report.question = options.question(report.assumed);
  if (!names.empty())
    report.assumed.push_back(fmt::format("{} judged by name alone: a name does not tell the GPUs", names.size()));
  if (!files.empty()) report.targets = doctor::examine(files, report.question, options.how());
  for (auto& by_name : doctor::examine_names(names, report.question)) report.targets.push_back(std::move(by_name));
  say_if_torch_is_not_judged(report);
  const doctor::Choice choice = doctor::choose(report.targets, report.question);
  if (options.json) {
    fmt::print("{}\n", dump(choice_json(report, choice)));
  } else {
    fmt::print("{}", choice_text(report, choice, {.verbose = options.verbose, .colour = wants_colour()}));
  }
  return choice.set.empty() ? kDoesNotFit : kOk;
}

}  // namespace

void add_choose(CLI::App& app, int& status) {
  CLI::App* command =
      app.add_subcommand("choose", "Which of several wheels fits best; the smallest set for several GPUs.");
  const auto options = std::make_shared<DoctorOptions>();
  command
      ->add_option("targets", options->targets,
                   "as for `doctor`; without any, names of wheels, one a line, on standard input")
      ->type_name("TARGET");
  options->add_to(*command);
  command->footer(kExample);
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace flashfit::cli
