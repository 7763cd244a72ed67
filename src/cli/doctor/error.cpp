#include "cli/doctor/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/command.hpp"
#include "cli/doctor/given_text.hpp"
#include "cli/options.hpp"
#include "core/base/printable.hpp"
#include "core/gpu/driver_versions.hpp"
#include "doctor/bytes/limits.hpp"
#include "doctor/dynamic_loader/real_tree.hpp"
#include "doctor/examine/examine.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/mends/mends.hpp"

namespace flashfit::cli {
namespace {

/// What the text says of its machine, where no option says otherwise: it may come from another than this one. Its
/// Python counts for files alone: an environment has its own.
DoctorOptions with_named(DoctorOptions options, const doctor::pasted::NamedInText& named, bool python,
                         std::vector<std::string>& assumed) {
  if (options.gpus.empty() && named.gpu) {
    options.gpus = {named.gpu->name};
    assumed.emplace_back("the GPU is the one that the text names");
  }
  if (options.driver.empty() && parse_driver(named.driver)) {
    options.driver = named.driver;
    assumed.emplace_back("the driver is the one that the text names");
  }
  if (python && options.python.empty() && options.platform.empty() && named.python) {
    options.python = named.python->version;
    assumed.emplace_back("Python is that of the paths in the text");
  }
  // Not of an environment: that was found on this machine.
  if (python && options.platform.empty() && options.glibc.empty() && named.windows) {
    options.platform = "win_amd64";
    assumed.emplace_back("the system is Windows, whose paths the text has");
  }
  return options;
}

/// By what an environment is certainly not the one that the text is of; "" if nothing tells.
std::string difference(const doctor::environment::Environment& found, const doctor::pasted::NamedInText& named) {
  const auto python = doctor::parse_python(found.prefix.python);
  if (python && named.python && python->minor != named.python->minor)
    return fmt::format("Python {}, and the text is of {}", found.prefix.python, named.python->version);
  if (named.windows && found.question.platform && found.question.platform->system != doctor::Platform::System::kWindows)
    return "files for another system, and the text is of Windows";
  const auto here = found.question.torch ? found.question.torch->version : std::nullopt;
  const auto there = doctor::parse_version(named.torch);
  if (here && there && here->release != there->release)
    return fmt::format("PyTorch {}, and the text is of {}", here->text, named.torch);
  return "";
}

/// A picture, a program, an archive: not what an error's text is. Zeros do not count, which UTF-16 has.
bool is_no_text(const std::string& text) {
  constexpr std::size_t kLooked = 64 << 10, kOneOf = 25;
  const std::string_view start = std::string_view(text).substr(0, kLooked);
  const auto controls = std::count_if(start.begin(), start.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0x7f ||
           (byte > 0 && byte < ' ' && std::string_view("\n\r\t\b\x1b").find(c) == std::string_view::npos);
  });
  return static_cast<std::size_t>(controls) * kOneOf > start.size();
}

bool is_of_the_machine(const doctor::pasted::ErrorClass* kind) {
  return kind != nullptr &&
         std::find(kind->explained_by.begin(), kind->explained_by.end(), "FF701") != kind->explained_by.end();
}

/// The driver's answer and the copies of its library, as a target among others.
doctor::TargetReport machine_report(const doctor::environment::Environment& found) {
  doctor::TargetReport report{.target = {.target = "this machine", .file_name = "this machine"}};
  report.problems = found.problems;
  report.verdict = doctor::verdict_of(found.problems);
  for (const doctor::Problem& p : report.problems)
    if (report.look_for.empty() && p.severity != doctor::Severity::kNote) report.look_for = p.fix;
  return report;
}

/// A machine without a driver or a GPU makes no error of another one's, and is not cleared of its own.
bool has_gpu(const doctor::environment::Environment& found) {
  using State = doctor::environment::DriverAnswer::State;
  constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE
  const doctor::environment::DriverAnswer& driver = found.system.driver;
  if (driver.state == State::kNoLibrary) return false;
  return driver.state != State::kAnswered || !driver.gpus.empty() || (driver.status != 0 && driver.status != kNoDevice);
}

/// Takes what the environment tells of this error; nothing of an environment that is certainly not the text's, unless
/// it was named by --env.
void take_environment(const doctor::environment::Environment& found, const doctor::pasted::Diagnosis& diagnosis,
                      bool asked_for, doctor::pasted::LookedAt& looked, std::vector<std::string>& assumed) {
  const std::string words = fmt::format("{} ({})", printable(found.prefix.path, 300), name_of(found.prefix.kind));
  const std::string other = difference(found, diagnosis.named);
  if (!other.empty())
    assumed.push_back(fmt::format("{} has {}{}", words, other, asked_for ? "" : ": it is not counted"));
  if (!other.empty() && !asked_for) return;
  looked.environment = words;
  looked.folders = found.prefix.packages;
  for (const doctor::environment::PackageReport& package : found.packages) looked.reports.push_back(package.report);
  // Those that one has to do with before the libraries that they bring.
  const auto fits = std::find_if(looked.reports.begin(), looked.reports.end(),
                                 [](const auto& r) { return r.verdict == doctor::Verdict::kFits; });
  std::stable_partition(fits, looked.reports.end(),
                        [](const auto& r) { return !r.target.target.starts_with("nvidia-"); });
  const bool asked_driver = found.system.driver.state != doctor::environment::DriverAnswer::State::kNotAsked;
  if (is_of_the_machine(diagnosis.error.kind) && asked_driver && has_gpu(found))
    looked.reports.insert(looked.reports.begin(), machine_report(found));
  looked.packages = looked.reports.size();
}

/// Looks at the environment asked for, else at the one that the text names if it is here, else at the active one.
/// False: there is none.
bool look_around(DoctorOptions options, const doctor::pasted::Diagnosis& diagnosis, doctor::pasted::LookedAt& looked,
                 DoctorReport& report) {
  const bool asked_for = !options.env.empty();
  std::vector<std::string> assumed;
  options = with_named(std::move(options), diagnosis.named, false, assumed);
  const doctor::dynamic_loader::RealTree tree(options.root);
  const auto& folders = diagnosis.named.site_packages;
  if (options.root != "/") looked.option = " --root " + doctor::shell_word(options.root);
  if (asked_for) {
    looked.option += " --env " + doctor::shell_word(options.env);
  } else if (!folders.empty() && is_folder(tree, folders.front())) {
    options.env = doctor::environment::prefix_of_packages(tree, folders.front());
    assumed.emplace_back("the environment is the one that the text names");
  }
  const auto question = options.environment_question();
  const doctor::environment::Environment found = look_at(tree, question);
  if (found.prefix.kind == doctor::environment::Prefix::Kind::kNone) {
    report.assumed.push_back(found.problems.front().message + ": no environment was looked at");
    return false;
  }
  report.question = found.question;
  report.assumed = std::move(assumed);
  report.assumed.insert(report.assumed.end(), found.assumed.begin(), found.assumed.end());
  take_environment(found, diagnosis, asked_for, looked, report.assumed);
  return true;
}

}  // namespace

int doctor_error(const DoctorOptions& given_options) {
  const bool looks_around = given_options.targets.empty() || !given_options.env.empty();
  if (given_options.probe && !looks_around) wrong("--probe: goes with an environment, not with targets");
  if (given_options.root != "/" && !looks_around) wrong("--root: goes with an environment, not with targets");
  const GivenText given = given_text(*given_options.error);
  if (given.text.find_first_not_of(" \t\r\n") == std::string::npos)
    wrong("--error", printable(*given_options.error), "is empty; the traceback or the log is needed");
  doctor::pasted::Diagnosis diagnosis = doctor::pasted::diagnose(given.text);
  diagnosis.left_out += given.left_out;
  if (given.looks_like_a_file && diagnosis.error.kind == nullptr)
    wrong("--error", printable(*given_options.error), "no file has that name, and as a text it is no known error");
  DoctorReport report;
  doctor::pasted::LookedAt looked;
  DoctorOptions options = given_options;
  if (!looks_around || !look_around(options, diagnosis, looked, report)) {
    options = with_named(std::move(options), diagnosis.named, true, report.assumed);
    report.question = options.question(report.assumed);
  }
  if (given.endless)
    report.assumed.push_back(
        fmt::format("the text did not end within {} bytes: the rest was not read", doctor::limits::kStreamBytes.most));
  if (given.silent)
    report.assumed.push_back(fmt::format("nothing more came of {} for {} s: what came until then was read",
                                         printable(*given_options.error), doctor::limits::kSilence.count()));
  if (diagnosis.error.kind == nullptr && is_no_text(given.text))
    report.assumed.push_back(
        fmt::format("{} looks like no text, as more than a 25th of it are control characters: the "
                    "traceback or the log is needed, as text",
                    printable(*given_options.error)));
  if (given.looks_like_a_file) report.assumed.emplace_back("no file has that name: it was taken as the text itself");
  if (!options.targets.empty()) {
    const auto how = options.how();
    auto reports = doctor::examine(options.targets, report.question, how);
    std::move(reports.begin(), reports.end(), std::back_inserter(looked.reports));
  }
  const doctor::pasted::Answer answer =
      doctor::pasted::answer(std::move(diagnosis), std::move(looked), report.question, given.word);
  if (!options.html.empty() && !wrote_html(options.html, text_html(error_text(answer, report, {.verbose = true}))))
    return kFailed;
  if (options.json) {
    fmt::print("{}\n", dump(error_json(answer, report)));
  } else {
    fmt::print("{}", error_text(answer, report, {.verbose = options.verbose, .colour = wants_colour()}));
  }
  return answer.cause_found ? kDoesNotFit : kUsage;
}

}  // namespace flashfit::cli
