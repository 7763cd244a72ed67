#include "measure/report_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/html_text.hpp"
#include "measure/page_figure.hpp"

namespace flashfit::results {
namespace {

using Json = nlohmann::ordered_json;

/// A unit of the GPU: in `bound_us` and on the page, and ncu's metric of how busy it was.
struct Unit {
  const char *key, *name, *metric;
};
constexpr Unit kUnits[] = {
    {"tensor", "tensor pipe", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"},
    {"exp", "exp unit", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed"},
    {"memory", "memory", "dram__throughput.avg.pct_of_peak_sustained_elapsed"},
};
constexpr std::string_view kStall = "smsp__average_warps_issue_stalled_", kPerIssue = "_per_issue_active.ratio";
constexpr std::size_t kStallsShown = 3;

double number_at(const Json& json, const char* key) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && at != json.end() && at->is_number() ? at->get<double>() : 0;
}

/// Microseconds of one of ncu's units of time; ncu has called it "nsecond" and "ns".
std::optional<double> microseconds(const Json& counted) {
  if (!counted.is_object() || !counted.contains("value") || !counted["value"].is_number()) return std::nullopt;
  const std::string unit = counted.value("unit", "");
  const double scale = unit.starts_with("ns") ? 1e-3 : unit.starts_with("us") ? 1 : unit.starts_with("ms") ? 1e3 : 0;
  if (scale == 0) return std::nullopt;
  return counted["value"].get<double>() * scale;
}

const Json* profile_of(const Json& c) {
  return c.contains("profile") && c["profile"].is_object() ? &c["profile"] : nullptr;
}
const Json* counts_of(const Json& c) {
  const Json* profile = profile_of(c);
  return profile && profile->contains("ncu") && (*profile)["ncu"].is_object() ? &(*profile)["ncu"] : nullptr;
}

/// "long scoreboard" and the warps that waited so, the most first.
std::vector<std::pair<double, std::string>> stalls_of(const Json& counts) {
  std::vector<std::pair<double, std::string>> stalls;
  for (const auto& [metric, counted] : counts.items())
    if (metric.starts_with(kStall) && metric.ends_with(kPerIssue))
      stalls.emplace_back(number_at(counted, "value"), metric);
  std::sort(stalls.rbegin(), stalls.rend());
  if (stalls.size() > kStallsShown) stalls.resize(kStallsShown);
  return stalls;
}

std::string stall_name(const std::string& metric) {
  std::string name = metric.substr(kStall.size(), metric.size() - kStall.size() - kPerIssue.size());
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

void add_row(std::string& out, const Json& document, std::size_t run, std::size_t index, const Json& counts) {
  const std::string of_case = fmt::format("/runs/{}/result/cases/{}", run, index), ncu = of_case + "/profile/ncu",
                    figures = fmt::format("/runs/{}/cases/{}/profile", run, index);
  const auto counted = [&](const std::string& metric) { return figure(document, ncu + step(metric) + "/value"); };
  out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}<br><small>ncu {}, model {}</small></td>",
                     html_escaped(document["runs"][run]["result"]["cases"][index]["name"].get<std::string>()),
                     figure(document, of_case + "/median_us"), figure(document, figures + "/us"),
                     figure(document, of_case + "/profile/model/us"));
  for (const Unit& unit : kUnits)
    out += fmt::format("<td>{} %<br><small>model {}</small></td>", counted(unit.metric),
                       figure(document, figures + "/" + unit.key, Looks::kPercent));
  out += fmt::format("<td>{} %</td><td>", counted("sm__issue_active.avg.pct_of_peak_sustained_elapsed"));
  const char* between = "";
  for (const auto& [warps, metric] : stalls_of(counts)) {
    out += fmt::format("{}{} {}", between, stall_name(metric), counted(metric));
    between = "<br>";
  }
  out += fmt::format("</td><td>{}</td></tr>\n", counted("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"));
}

}  // namespace

Json profile_figures(const Json& c) {
  const Json* counts = counts_of(c);
  if (!counts) return nullptr;
  Json figures = Json::object();
  if (const auto at = counts->find("gpu__time_duration.sum"); at != counts->end())
    if (const std::optional<double> us = microseconds(*at)) figures["us"] = *us;
  const double median = number_at(c, "median_us");
  if (median > 0 && c.contains("bound_us"))
    for (const Unit& unit : kUnits)
      if (const double bound = number_at(c["bound_us"], unit.key); bound > 0) figures[unit.key] = bound / median;
  return figures;
}

std::string profile_tables(const Json& document, std::size_t run) {
  const Json& cases = document["runs"][run]["result"]["cases"];
  std::string rows, failed, heads;
  for (const Unit& unit : kUnits) heads += fmt::format("<th>{}</th>", unit.name);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Json* profile = profile_of(cases[i]);
    if (const Json* counts = counts_of(cases[i]))
      add_row(rows, document, run, i, *counts);
    else if (profile)
      failed += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n",
                            html_escaped(cases[i]["name"].get<std::string>()),
                            html_escaped(profile->contains("message") && (*profile)["message"].is_string()
                                             ? (*profile)["message"].get<std::string>()
                                             : std::string("no counts")));
  }
  std::string out;
  if (!rows.empty() || !failed.empty()) out += "<h3>Counted by Nsight Compute</h3>\n";
  if (!rows.empty())
    out +=
        "<p>How busy units were in one launch with cold caches, beside the model: the unit's bound over the measured "
        "time. Waits are warps that wait for each instruction issued, the most first.</p>\n<div class=\"wide\"><table>"
        "<thead><tr><th>case</th><th>µs a call</th>" +
        heads + "<th>issuing</th><th>waits</th><th>bank conflicts</th></tr></thead><tbody>\n" + rows +
        "</tbody></table></div>\n";
  if (!failed.empty())
    out += "<div class=\"wide\"><table><thead><tr><th>case</th><th>not counted</th></tr></thead><tbody>\n" + failed +
           "</tbody></table></div>\n";
  return out;
}

}  // namespace flashfit::results
