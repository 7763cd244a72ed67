#include "cli/bench_report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "cli/table.hpp"
#include "measure/four_digits.hpp"

namespace flashfit::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string microseconds(const Json& us) { return us.is_null() ? "-" : measure::four_digits(us.get<double>()); }

/// This build, or this GPU, cannot do it: docs/results.md says how `message` begins then.
bool is_misfit(const Json& c) { return c.value("message", "").starts_with("misfit: "); }

std::vector<std::string> row(const Json& c) {
  const Json& median = c.at("median_us");
  const bool timed = !median.is_null(), bounded = timed && c.contains("share") && !c.at("share").is_null();
  const double tflops = timed ? c.at("work").at("flop").get<double>() / median.get<double>() * 1e-6 : 0;
  const std::string right = c.at("correct") == true ? "yes" : is_misfit(c) ? "misfit" : "NO";
  return {
      c.at("name").get<std::string>(),
      microseconds(median),
      timed ? fmt::format("{} - {}", microseconds(c.at("interval_us")[0]), microseconds(c.at("interval_us")[1])) : "-",
      timed ? measure::four_digits(tflops) : "-",
      bounded ? fmt::format("{:.0f} %", 100 * c.at("share").get<double>()) : "-",
      bounded ? c.at("bound_us").at("binds").get<std::string>() : "-",
      right};
}

}  // namespace

BenchProgress::BenchProgress(std::size_t all) : all_(all), terminal_(isatty(STDERR_FILENO) != 0) {}

void BenchProgress::show(std::size_t done, const std::string& name) {
  if (!terminal_) return;
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::string left;
  if (done > 0) {
    const auto seconds = static_cast<long>(spent / static_cast<double>(done) * static_cast<double>(all_ - done));
    left = fmt::format(", {}:{:02} left", seconds / 60, seconds % 60);
  }
  fmt::print(stderr, "\r\x1b[Kcase {} of {}{}: {}", done + 1, all_, left, name.substr(0, 60));
  std::fflush(stderr);
}

void BenchProgress::clear() {
  if (terminal_) fmt::print(stderr, "\r\x1b[K");
}

void print_bench(const Json& content) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& c : content.at("cases")) rows.push_back(row(c));
  fmt::print("{}", table({{"case"},
                          {"median us", true},
                          {"95 % interval", true},
                          {"TFLOP/s", true},
                          {"share", true},
                          {"binds"},
                          {"right"}},
                         rows));
  for (const Json& c : content.at("cases"))
    if (c.at("correct") == false)
      fmt::print("{}{}: {}\n", is_misfit(c) ? "" : "wrong: ", c.at("name").get<std::string>(),
                 c.at("message").get<std::string>());
  const Json& noise = content.at("method").at("noise");
  if (!noise.is_null())
    fmt::print("noise of a ratio {:.1f} % ({}), L2 {}\n", 100 * noise.at("half_width").get<double>(),
               noise.at("case").get<std::string>(), content.at("method").at("l2").get<std::string>());
  if (content.at("made").at("complete") == false)
    fmt::print("interrupted; cases that were measured: {}\n", content.at("cases").size());
}

}  // namespace flashfit::cli
