#include "cli/doctor_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "errors/pasted_text.hpp"
#include "gpu/driver_versions.hpp"
#include "inspect/doctor.hpp"
#include "inspect/mends.hpp"
#include "inspect/printable.hpp"

namespace flashfit::cli {
namespace {

/// The end of what the stream has, and how much that was: a log may be longer than memory.
std::string last_of(std::istream& in, std::size_t& left_out) {
  // One part more than is kept, so that the limit is seen by who counts lines.
  constexpr std::size_t kPart = 1U << 20, kMost = errors::kLongestText + kPart;
  std::string text, part(kPart, '\0');
  while (in.read(part.data(), static_cast<std::streamsize>(part.size())), in.gcount() > 0) {
    text.append(part, 0, static_cast<std::size_t>(in.gcount()));
    if (text.size() <= kMost) continue;
    const std::size_t cut = text.size() - errors::kLongestText;
    left_out += cut;
    text.erase(0, cut);
  }
  return text;
}

struct Given {
  std::string text;
  std::string word;          ///< for a command that asks again
  std::size_t left_out = 0;  ///< bytes before `text`
  bool looks_like_a_file = false;
};

bool is_like_a_path(std::string_view word) {
  return word.find_first_of(" \n") == std::string_view::npos &&
         (word.find('/') != std::string_view::npos || word.ends_with(".txt") || word.ends_with(".log"));
}

Given read_given(const std::string& error) {
  Given given{.word = inspect::is_plain_path(error) && error.size() <= 200 ? inspect::shell_word(error) : "FILE"};
  if (error == "-") {
    given.word = "FILE";
    given.text = last_of(std::cin, given.left_out);
    return given;
  }
  std::error_code failed;
  // A name too long for a file system is no name.
  const bool there = error.size() < 4096 && std::filesystem::exists(error, failed) && !failed;
  if (!there) {
    given.text = error;
    given.looks_like_a_file = is_like_a_path(error);
    return given;
  }
  if (!std::filesystem::is_regular_file(error, failed) && !std::filesystem::is_fifo(error, failed) &&
      !std::filesystem::is_character_file(error, failed))
    wrong("--error", inspect::printable(error), "must be a text, a file with one, or - for standard input");
  std::ifstream in(error, std::ios::binary);
  if (!in) wrong("--error", inspect::printable(error), "cannot be read");
  given.text = last_of(in, given.left_out);
  return given;
}

/// What the text says of its machine, where no option says otherwise: it may come from another than this one.
DoctorOptions with_named(DoctorOptions options, const errors::NamedInText& named, std::vector<std::string>& assumed) {
  if (options.gpus.empty() && named.gpu) {
    options.gpus = {named.gpu->name};
    assumed.emplace_back("the GPU is the one that the text names");
  }
  if (options.driver.empty() && parse_driver(named.driver)) {
    options.driver = named.driver;
    assumed.emplace_back("the driver is the one that the text names");
  }
  if (options.python.empty() && options.platform.empty() && named.python) {
    options.python = named.python->version;
    assumed.emplace_back("Python is that of the paths in the text");
  }
  return options;
}

}  // namespace

int doctor_error(const DoctorOptions& given_options) {
  if (!given_options.html.empty()) wrong("--html: --error writes no page; --json is there");
  if (!given_options.env.empty() || given_options.probe)
    wrong("--error: goes with targets, not with --env or --probe; a folder of packages is a target");
  const Given given = read_given(given_options.error);
  if (given.text.find_first_not_of(" \t\r\n") == std::string::npos)
    wrong("--error", inspect::printable(given_options.error), "is empty; the traceback or the log is needed");
  errors::Diagnosis diagnosis = errors::diagnose(given.text);
  diagnosis.left_out += given.left_out;
  DoctorReport report;
  const DoctorOptions options = with_named(given_options, diagnosis.named, report.assumed);
  report.question = options.question(report.assumed);
  if (given.looks_like_a_file) report.assumed.emplace_back("no file has that name: it was taken as the text itself");
  std::vector<inspect::TargetReport> reports;
  if (!options.targets.empty()) {
    const auto how = options.how();
    reports = inspect::examine(options.targets, report.question, how);
  }
  const errors::Answer answer = errors::answer(std::move(diagnosis), std::move(reports), report.question, given.word);
  if (options.json) {
    fmt::print("{}\n", dump(error_json(answer, report)));
  } else {
    fmt::print("{}", error_text(answer, report, {.verbose = options.verbose, .colour = wants_colour()}));
  }
  return answer.cause_found ? kDoesNotFit : kUsage;
}

}  // namespace flashfit::cli
