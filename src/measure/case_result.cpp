#include "measure/case_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/four_digits.hpp"

namespace flashfit::measure {
namespace {

using Json = nlohmann::ordered_json;

/// What clocks can tell, and no more: files stay readable.
double rounded(double us) { return std::round(us * 1e4) / 1e4; }

Json rounded(const std::vector<double>& values) {
  Json all = Json::array();
  for (const double x : values) all.push_back(rounded(x));
  return all;
}

void add_times(Json& to, const std::vector<double>& us) {
  const Interval interval = median_interval(us);
  to["samples_us"] = rounded(us);
  to["median_us"] = rounded(median(us));
  to["interval_us"] = {rounded(interval.low), rounded(interval.high)};
}

const char* name_of(Launch launch) {
  return launch == Launch::kHost ? "host" : launch == Launch::kGraph ? "graph" : "plain";
}

Json clocks(const std::vector<double>& mhz) {
  if (mhz.empty()) return nullptr;
  return {{"median", std::round(median(mhz))},
          {"low", std::round(*std::min_element(mhz.begin(), mhz.end()))},
          {"high", std::round(*std::max_element(mhz.begin(), mhz.end()))}};
}

/// JSON knows no infinity: an error without measure is null.
Json finite(double x) { return std::isfinite(x) ? Json(x) : Json(); }

/// Quoted where it must be (RFC 4180).
std::string cell(const Json& value) {
  if (value.is_null()) return "";
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted(1, '"');
  for (const char x : text) {
    if (x == '"') quoted.push_back('"');
    quoted.push_back(x);
  }
  quoted.push_back('"');
  return quoted;
}

}  // namespace

std::optional<std::string> above_bound(const Measured& m, const std::optional<Bound>& bound) {
  if (!bound || m.times.us.empty() || median(m.times.us) >= bound->longest()) return std::nullopt;
  return fmt::format("{} us is less than the {} us that {} alone takes: an error of the measurement or the kernel",
                     four_digits(median(m.times.us)), four_digits(bound->longest()), bound->binds());
}

Json json_of(const Case& c, const Measured& m, Launch launch, const std::optional<Bound>& bound) {
  Json all = json_of(c);
  const std::optional<std::string> impossible = above_bound(m, bound);
  const bool correct = m.correct && !impossible;
  all["bound_us"] = bound ? json_of(*bound) : Json();
  all["correct"] = correct;
  if (!correct) all["message"] = impossible ? *impossible : m.message;
  all["error"] = finite(m.error);
  all["error_bound"] = finite(m.bound);
  all["variant"] = m.variant ? Json(*m.variant) : Json();
  all["launch"] = name_of(launch);
  const bool timed = correct && !m.times.us.empty();
  if (!timed) {
    all["samples_us"] = Json::array();
    all["median_us"] = all["interval_us"] = nullptr;
    if (impossible) all["impossible_us"] = rounded(median(m.times.us));
    return all;
  }
  add_times(all, m.times.us);
  if (m.plain) {
    Json plain = Json::object();
    add_times(plain, m.plain->us);
    all["plain"] = std::move(plain);
    all["host_us"] = m.plain->host_us.empty() ? Json() : Json(rounded(median(m.plain->host_us)));
  }
  all["clock_mhz"] = clocks(m.times.clock_mhz);
  all["throttled"] = m.throttled;
  all["share"] = bound ? Json(bound->longest() / median(m.times.us)) : Json();
  return all;
}

std::string csv_of(const Json& cases) {
  std::string text =
      "name,group,correct,median_us,low_us,high_us,launch,share,binds,error,error_bound,variant,message\r\n";
  for (const Json& c : cases) {
    const Json interval = c.at("interval_us").is_null() ? Json{nullptr, nullptr} : c.at("interval_us");
    const Json binds = c.at("bound_us").is_null() ? Json() : c.at("bound_us").at("binds");
    const Json cells[] = {c.at("name"),
                          c.at("group"),
                          c.at("correct"),
                          c.at("median_us"),
                          interval[0],
                          interval[1],
                          c.at("launch"),
                          c.value("share", Json()),
                          binds,
                          c.at("error"),
                          c.at("error_bound"),
                          c.at("variant"),
                          c.value("message", Json())};
    for (const Json& one : cells) {
      if (&one != &cells[0]) text.push_back(',');
      text += cell(one);
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace flashfit::measure
