// flashfit doctor: whether wheels, libraries and GPU code fit, exactly why not, and what would.
#include "inspect/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "cli/command.hpp"
#include "cli/doctor_options.hpp"
#include "cli/doctor_report.hpp"
#include "cli/options.hpp"

namespace flashfit::cli {
namespace {

constexpr char kExample[] = R"(
Examples:
  flashfit doctor flash_attn-2.8.3-cp310-cp310-linux_x86_64.whl --gpu L40 --python 3.11
  flashfit doctor venv/lib/python3.11/site-packages --gpu "rtx 5090" --driver 570
  flashfit doctor kernel.cubin --gpu L4 --gpu H100
  flashfit doctor torch.whl --gpu all
Exit status: 0 all fit, 1 something does not or only in part, 2 it cannot be told or wrong use, 3 not written.)";

int status_of(const std::vector<inspect::TargetReport>& reports) {
  using inspect::Verdict;
  const auto unreadable = [](const inspect::TargetReport& r) {
    return r.verdict == Verdict::kUnknown || std::any_of(r.problems.begin(), r.problems.end(), [](const auto& p) {
             return p.severity == inspect::Severity::kUnknown && p.code.starts_with("FF90");
           });
  };
  if (std::any_of(reports.begin(), reports.end(), unreadable)) return kUsage;
  return inspect::worst(reports) == Verdict::kFits ? kOk : kDoesNotFit;
}

int run(const DoctorOptions& options) {
  DoctorReport report;
  report.question = options.question(report.assumed);
  {
    const auto how = options.how();
    report.targets = inspect::examine(options.targets, report.question, how);
  }
  if (!options.html.empty()) {
    std::ofstream file(options.html, std::ios::binary | std::ios::trunc);
    file << doctor_html(report);
    if (!file.flush()) {
      fmt::print(stderr, "flashfit: --html '{}': cannot be written\n", options.html);
      return kFailed;
    }
  }
  if (options.json) {
    fmt::print("{}\n", dump(doctor_json(report)));
  } else {
    fmt::print("{}", doctor_text(report, {.verbose = options.verbose, .colour = wants_colour()}));
  }
  return status_of(report.targets);
}

}  // namespace

void add_doctor(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Whether wheels, libraries and GPU code fit a GPU, driver, Python and PyTorch; why not, and what would.");
  const auto options = std::make_shared<DoctorOptions>();
  command
      ->add_option("targets", options->targets,
                   "wheels, .so, .pyd, .dll, .cubin, .fatbin, .ptx, .a, .o, source distributions, folders")
      ->type_name("TARGET")
      ->required();
  options->add_to(*command);
  command->add_option("--html", options->html, "also write one page with the matrix of files and GPUs")
      ->type_name("FILE");
  command->footer(kExample);
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace flashfit::cli
