// flashfit doctor: whether wheels, libraries and GPU code fit, exactly why not, and what would.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/command.hpp"
#include "cli/doctor/ci_options.hpp"
#include "cli/doctor/codes.hpp"
#include "cli/doctor/environment.hpp"
#include "cli/doctor/error.hpp"
#include "cli/doctor/examine.hpp"
#include "cli/doctor/format.hpp"
#include "cli/doctor/options.hpp"
#include "cli/doctor/report.hpp"
#include "cli/doctor/torch.hpp"
#include "cli/options.hpp"
#include "doctor/dynamic_loader/real_tree.hpp"
#include "doctor/environment/addressed_mend.hpp"
#include "doctor/examine/examine.hpp"

namespace flashfit::cli {
namespace {

constexpr char kExample[] = R"(
Examples:
  flashfit doctor flash_attn-2.8.3-cp310-cp310-linux_x86_64.whl --gpu L40 --python 3.11
  flashfit doctor venv/lib/python3.11/site-packages --gpu "rtx 5090" --driver 570
  flashfit doctor kernel.cubin --gpu L4 --gpu H100
  flashfit doctor torch.whl --gpu all
  flashfit doctor
  flashfit doctor --env venv --gpu L40 --driver 570
  flashfit doctor requirements.txt Dockerfile --policy fleet.toml --format github
  flashfit doctor --error build.log
  flashfit doctor FF101
  flashfit doctor --error error.txt --env venv
  flashfit doctor --root /proc/4711/root --env /opt/venv
  flashfit doctor --error traceback.txt venv/lib/python3.11/site-packages --gpu L40
Exit status: 0 all fit (never with --error), 1 something does not or only in part, 2 it cannot be told or wrong use, 3 not written.)";

int status_of(const std::vector<doctor::TargetReport>& reports) {
  using doctor::Verdict;
  const auto unreadable = [](const doctor::TargetReport& r) {
    return r.verdict == Verdict::kUnknown || std::any_of(r.problems.begin(), r.problems.end(), [](const auto& p) {
             return p.severity == doctor::Severity::kUnknown && p.code.starts_with("FF90");
           });
  };
  if (std::any_of(reports.begin(), reports.end(), unreadable)) return kUsage;
  return doctor::worst(reports) == Verdict::kFits ? kOk : kDoesNotFit;
}

int run_environment(const DoctorOptions& options) {
  if (!options.targets.empty())
    wrong("--env: judges an environment, so it goes without targets; --torch takes its folder for them");
  const doctor::dynamic_loader::RealTree tree(options.root);
  const doctor::environment::Environment found = [&] {
    const auto question = options.environment_question();
    return look_at(tree, question);
  }();
  DoctorReport report{.question = found.question, .assumed = found.assumed};
  for (const doctor::environment::PackageReport& package : found.packages) report.targets.push_back(package.report);
  if (!options.html.empty() && !wrote_html(options.html, doctor_html(report))) return kFailed;
  if (options.json) {
    fmt::print("{}\n", environment_json(found, report));
  } else {
    fmt::print("{}", environment_text(found, report, {.verbose = options.verbose, .colour = wants_colour()}));
  }
  return found.verdict == doctor::Verdict::kFits      ? kOk
         : found.verdict == doctor::Verdict::kUnknown ? kUsage
                                                      : kDoesNotFit;
}

/// The machine that the options name, or those of the policy.
std::vector<MachineReport> examined(const DoctorOptions& options, const CiOptions& ci) {
  std::unique_ptr<doctor::requests::Fetcher> fetcher;
  if (ci.fetch) {
    auto made = doctor::requests::Fetcher::make();
    if (!made) wrong("--fetch: " + made.error().message);
    fetcher = std::move(*made);
  }
  std::vector<MachineReport> machines;
  for (const auto& [name, of_machine] : ci.machines(options)) {
    MachineReport& machine = machines.emplace_back(name, DoctorReport{});
    machine.report.question = of_machine.question(machine.report.assumed);
    examine_targets(of_machine, fetcher.get(), machine.report);
    const std::string python = of_machine.interpreter(machine.report.question);
    for (doctor::TargetReport& target : machine.report.targets)
      target.mend = doctor::environment::addressed_mend(target.mend, python);
    say_if_torch_is_not_judged(machine.report);
  }
  return machines;
}

/// People write codes in any case.
std::string as_code(std::string code) {
  for (char& c : code)
    if (c == 'f') c = 'F';
  return code;
}

/// Whether codes alone were asked for, and no files of their names.
bool asks_for_pages(const DoctorOptions& options) {
  const auto is_page = [](const std::string& word) {
    std::error_code error;
    return looks_like_code(as_code(word)) && !std::filesystem::exists(word, error);
  };
  return !options.targets.empty() && std::all_of(options.targets.begin(), options.targets.end(), is_page);
}

int print_pages(const std::vector<std::string>& codes) {
  for (const std::string& code : codes)
    if (page_of_code(as_code(code)).empty())
      wrong("TARGET", code, "has no page; docs/doctor/README.md lists those that have");
  for (const std::string& code : codes)
    fmt::print("{}{}", &code == &codes.front() ? "" : "\n", page_of_code(as_code(code)));
  return kOk;
}

int run(const DoctorOptions& options, const CiOptions& ci) {
  if (!options.error && asks_for_pages(options)) {
    if (options.json || !options.html.empty() || !ci.policy.empty() || ci.format != "text")
      wrong("--json, --html, --policy and --format: go with targets, not with the page of a code");
    return print_pages(options.targets);
  }
  refuse_other_than_page("--html", options.html);
  if (options.error || options.targets.empty() || !options.env.empty()) {
    if (!ci.policy.empty() || ci.fetch || ci.format != "text")
      wrong("--policy, --fetch and --format: go with targets alone, not with an environment or --error");
    return options.error ? doctor_error(options) : run_environment(options);
  }
  if (options.probe) wrong("--probe: goes with an environment, not with targets");
  if (options.root != "/") wrong("--root: goes with an environment, not with targets");
  const std::vector<MachineReport> machines = examined(options, ci);
  int status = kOk;
  for (const MachineReport& machine : machines) status = std::max(status, status_of(machine.report.targets));
  if (!options.html.empty() && !wrote_html(options.html, doctor_html(machines.front().report))) return kFailed;
  if (options.json || ci.format == "json") {
    const std::string text = fleet_json(machines) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);  // megabytes, which fmt would copy
  } else if (ci.format == "sarif") {
    fmt::print("{}\n", dump(doctor_sarif(machines, status)));
  } else if (ci.format == "github") {
    fmt::print("{}", doctor_github(machines, options.verbose));
  } else {
    fmt::print("{}", fleet_text(machines, {.verbose = options.verbose, .colour = wants_colour()}));
  }
  return status;
}

}  // namespace

void add_doctor(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand("doctor",
                                         "Whether wheels, libraries, GPU code or an environment fit a GPU, driver, "
                                         "Python and PyTorch; why not, and what would.");
  const auto options = std::make_shared<DoctorOptions>();
  command
      ->add_option(
          "targets", options->targets,
          "wheels, .so, .pyd, .dll, .cubin, .fatbin, .ptx, .a, .o, source distributions, folders; requirements files, "
          "pylock.toml, Dockerfiles; image archives of `docker save`; names of wheels that are not here; a code "
          "such as FF101, whose page is printed (default: the active environment)")
      ->type_name("TARGET");
  options->add_to(*command);
  options->add_environment_to(*command);
  const auto ci = std::make_shared<CiOptions>();
  ci->add_to(*command);
  command->add_option("--html", options->html, "also write one page with the matrix of files and GPUs")
      ->type_name("FILE");
  command
      ->add_option("--error", options->error,
                   "a pasted traceback or log, a file with one, or -: what it is, what caused it and what mends it, by "
                   "itself and by the environment, or by the targets beside it")
      ->type_name("TEXT|FILE|-");
  command->footer(kExample);
  command->callback([options, ci, &status] { status = run(*options, *ci); });
}

}  // namespace flashfit::cli
