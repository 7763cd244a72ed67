// flashfit report: one page of one run of `bench` or more.
#include "measure/report.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "core/base/printable.hpp"

namespace flashfit::cli {
namespace {

constexpr char kExample[] = R"(
Examples:
  flashfit report h200.json -o report.html --price 3.59
  flashfit report l4.json h200.json -o report.html --price 0.60 --price 3.59
The page needs no network. Exit status: 0 written, 2 no result file or wrong use, 3 not written.)";

constexpr double kMargin = 0.03, kHighestPrice = 1e6;

struct ReportWords {
  std::vector<std::string> files, prices;
  std::string output;
};

double price_of(const std::string& text) {
  double price = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), price);
  const bool sound = price >= 0 && price <= kHighestPrice;
  if (error != std::errc{} || end != text.data() + text.size() || !sound)
    wrong("--price", text, "must be dollars an hour, such as 0.60");
  return price;
}

int run(const ReportWords& words) {
  if (words.prices.size() > 1 && words.prices.size() != words.files.size())
    wrong(fmt::format("--price: {} prices for {} files; give one for all or one for each", words.prices.size(),
                      words.files.size()));
  refuse_other_than_page("--output", words.output);
  std::vector<double> prices;
  for (const std::string& text : words.prices) prices.push_back(price_of(text));
  std::vector<results::ReportRun> runs;
  for (std::size_t i = 0; i < words.files.size(); ++i) {
    auto file = results::read_result(words.files[i]);
    if (!file) wrong(printable(file.error().message, 400));
    runs.push_back({std::filesystem::path(words.files[i]).filename().string(), std::move(*file), {}});
    if (!prices.empty()) runs.back().price = prices[prices.size() == 1 ? 0 : i];
  }
  const std::string page = results::report_html(results::report_document(runs, kMargin));
  if (words.output == "-") {
    fmt::print("{}", page);
    return kOk;
  }
  std::ofstream out(words.output, std::ios::binary | std::ios::trunc);
  out << page;
  if (out.flush()) return kOk;
  fmt::print(stderr, "flashfit: --output '{}': cannot be written\n", words.output);
  return kFailed;
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand("report", "One page of result files: charts, tables, costs.");
  const auto words = std::make_shared<ReportWords>();
  command->add_option("results", words->files, "result files of `bench`")->type_name("RESULT")->required();
  command->add_option("-o,--output", words->output, "the page; - is standard output")->type_name("FILE")->required();
  command->add_option("--price", words->prices, "dollars an hour of the machine; once, or once a file")
      ->type_name("DOLLARS")
      ->expected(1)
      ->allow_extra_args(false)  // what follows is a file
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->footer(kExample);
  command->callback([words, &status] { status = run(*words); });
}

}  // namespace flashfit::cli
