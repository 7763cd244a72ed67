// flashfit compare: whether a newer run is slower than an older one, for people and as a gate.
#include "measure/compare.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/table.hpp"
#include "core/base/printable.hpp"
#include "measure/four_digits.hpp"

namespace flashfit::cli {
namespace {

using results::CaseComparison;
using results::Comparison;
using results::Verdict;
using results::WrongCase;
using Json = nlohmann::ordered_json;

constexpr char kExample[] = R"(
Examples:
  flashfit compare before.json after.json
  flashfit compare before.json after.json --fail-over 5% --json comparison.json
Exit status: 0 nothing is slower or became wrong, 1 something is, 2 not comparable or wrong use, 3 not written.)";

struct CompareWords {
  std::string old_file, new_file, margin = "3%", json;
  bool force = false;
};

double margin_of(const std::string& text) {
  const std::size_t sign = text.find('%');
  const std::string_view digits = std::string_view(text).substr(0, sign);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (sign != std::string::npos) value /= 100;
  const bool below_one = value > 0 && value < 1;
  const bool whole = error == std::errc{} && end == digits.data() + digits.size() &&
                     (sign == std::string::npos || sign + 1 == text.size());
  if (!whole || !below_one) wrong("--fail-over", text, "must be a share such as 3% or 0.03, below 100%");
  return value;
}

results::ResultFile read(const std::string& path) {
  auto file = results::read_result(path);
  if (!file) wrong(printable(file.error().message, 400));
  return std::move(*file);
}

std::string beside_words(const std::vector<std::string>& peers) {
  if (peers.empty()) return "-";
  return peers.size() == 1 ? printable(peers[0], 60) : fmt::format("{} peers", peers.size());
}

std::string ratio_words(double ratio) { return fmt::format("{:.3f}", ratio); }

void print_list(const char* title, const std::vector<std::string>& names) {
  if (names.empty()) return;
  fmt::print("\n{} ({}):\n", title, names.size());
  for (const std::string& name : names) fmt::print("  {}\n", printable(name, 200));
}

void print_list(const char* title, const std::vector<WrongCase>& cases) {
  if (cases.empty()) return;
  fmt::print("\n{} ({}):\n", title, cases.size());
  for (const WrongCase& c : cases) fmt::print("  {}: {}\n", printable(c.name, 200), printable(c.message, 300));
}

void print_text(const Comparison& comparison) {
  for (const std::string& note : comparison.notes) fmt::print("note: {}\n", printable(note, 400));
  if (!comparison.cases.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const CaseComparison& c : comparison.cases)
      rows.push_back({name_of(c.verdict), printable(c.name, 200), measure::four_digits(c.old_us),
                      measure::four_digits(c.new_us), ratio_words(c.ratio.value),
                      fmt::format("{}..{}", ratio_words(c.ratio.interval.low), ratio_words(c.ratio.interval.high)),
                      beside_words(c.beside)});
    fmt::print(
        "{}",
        table(
            {{"verdict"}, {"case"}, {"old us", true}, {"new us", true}, {"new/old", true}, {"95 %", true}, {"beside"}},
            rows));
  }
  print_list("Became wrong, which fails", comparison.became_wrong);
  print_list("Wrong in both", comparison.wrong_in_both);
  print_list("Became right, so without a comparison", comparison.became_right);
  print_list("Without times in one of them", comparison.without_times);
  print_list("In OLD alone", comparison.only_old);
  print_list("In NEW alone", comparison.only_new);
  fmt::print("\n{}: {} slower, {} faster, {} same, {} can't tell, {} became wrong; the margin is {:.3g} %\n",
             comparison.failed() ? "FAILED" : "passed", comparison.count(Verdict::kSlower),
             comparison.count(Verdict::kFaster), comparison.count(Verdict::kSame),
             comparison.count(Verdict::kCannotTell), comparison.became_wrong.size(), 100 * comparison.margin);
}

Json json_of(const std::vector<WrongCase>& cases) {
  Json list = Json::array();
  for (const WrongCase& c : cases) list.push_back({{"name", c.name}, {"message", c.message}});
  return list;
}

Json json_of(const Comparison& comparison) {
  Json cases = Json::array();
  for (const CaseComparison& c : comparison.cases)
    cases.push_back({{"name", c.name},
                     {"verdict", name_of(c.verdict)},
                     {"ratio", c.ratio.value},
                     {"ratio_interval", {c.ratio.interval.low, c.ratio.interval.high}},
                     {"old_us", c.old_us},
                     {"new_us", c.new_us},
                     {"beside", c.beside}});
  return {{"schema", 1},
          {"failed", comparison.failed()},
          {"margin", comparison.margin},
          {"cases", cases},
          {"became_wrong", json_of(comparison.became_wrong)},
          {"wrong_in_both", json_of(comparison.wrong_in_both)},
          {"became_right", comparison.became_right},
          {"without_times", comparison.without_times},
          {"only_old", comparison.only_old},
          {"only_new", comparison.only_new},
          {"notes", comparison.notes}};
}

int run(const CompareWords& words) {
  const double margin = margin_of(words.margin);
  const results::ResultFile old_run = read(words.old_file), new_run = read(words.new_file);
  const auto comparison = compare(old_run, new_run, {.margin = margin, .force = words.force});
  if (!comparison) wrong("compare: " + printable(comparison.error().message, 2000));
  if (!words.json.empty()) {
    std::ofstream file(words.json, std::ios::binary | std::ios::trunc);
    file << json_of(*comparison).dump(2) << '\n';
    if (!file.flush()) {
      fmt::print(stderr, "flashfit: --json '{}': cannot be written\n", words.json);
      return kFailed;
    }
  }
  print_text(*comparison);
  return comparison->failed() ? kSlower : kOk;
}

}  // namespace

void add_compare(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand("compare", "Whether a newer run of `bench` is slower than an older one.");
  const auto words = std::make_shared<CompareWords>();
  command->add_option("old", words->old_file, "result file of the older build")->type_name("OLD")->required();
  command->add_option("new", words->new_file, "result file of the newer build")->type_name("NEW")->required();
  command->add_option("--fail-over", words->margin, "how much slower is not yet a failure (default: 3%)")
      ->type_name("SHARE");
  command->add_flag("--force", words->force, "compare different GPUs, clocks or methods all the same");
  command->add_option("--json", words->json, "also write the comparison here")->type_name("FILE");
  command->footer(kExample);
  command->callback([words, &status] { status = run(*words); });
}

}  // namespace flashfit::cli
