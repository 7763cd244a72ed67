#include "measure/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/html_text.hpp"
#include "measure/page_figure.hpp"
#include "measure/report_cells.hpp"
#include "measure/report_environment.hpp"
#include "measure/report_profile.hpp"

// Made by the linker from the files in page/ and Chart.js.
extern "C" {
extern const char _binary_page_css_start[];
extern const char _binary_page_css_end[];
extern const char _binary_page_js_start[];
extern const char _binary_page_js_end[];
extern const char _binary_chart_min_js_start[];
extern const char _binary_chart_min_js_end[];
}

namespace flashfit::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
)";

std::string text_at(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_string() ? html_escaped(json[key].get<std::string>())
                                                                         : "";
}

std::string machine_name(const Json& result) {
  const Json& machine = result["machine"];
  const Json gpu = machine.value("gpu", Json());
  return gpu.is_object() ? text_at(gpu, "name") : text_at(machine, "cpu");
}

/// JSON inside a script element: no '<' ends it or opens a comment.
std::string json_in_script(const Json& json) {
  std::string out;
  for (const char c : json.dump()) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

void add_notices(std::string& out, const Json& document, std::size_t run) {
  const Json& r = document["runs"][run];
  const std::string counts = fmt::format("/runs/{}/counts", run);
  const auto count = [&](const char* key) { return figure(document, counts + "/" + key, Looks::kCount); };
  if (!r["result"]["made"]["complete"].get<bool>())
    out += "<p class=\"notice\">This run was interrupted: it holds what had been measured.</p>\n";
  if (r["counts"]["wrong"].get<int>() > 0)
    out += fmt::format("<p class=\"notice\">{} of {} cases are wrong: see <a href=\"#wrong-{}\">below</a>.</p>\n",
                       count("wrong"), count("cases"), run);
  if (r["counts"]["throttled"].get<int>() > 0)
    out += fmt::format("<p class=\"notice\">Cases that the driver throttled while they were timed: {}.</p>\n",
                       count("throttled"));
}

void add_charts(std::string& out, const Json& document, std::size_t run) {
  const Json& r = document["runs"][run];
  out += "<h3>Speed against sequence length</h3>\n";
  if (r["speed"].empty())
    out += "<p>No head dim was timed at two sequence lengths or more.</p>\n";
  else
    out += fmt::format(
        "<form class=\"choices\" data-run=\"{}\"><label>cases <select name=\"slice\"></select></label> <label>in "
        "<select name=\"unit\"><option value=\"tflops\">TFLOP/s (up is better)</option><option value=\"us\">µs a call "
        "(down is better)</option></select></label></form>\n<div class=\"charts speed\" data-run=\"{}\"></div>\n",
        run, run);
  out += "<h3>Roofline</h3>\n";
  if (r["roofline"].is_null())
    out += "<p>This run measured no ceilings, as on a CPU, so there is no roof to be under.</p>\n";
  else
    out += fmt::format(
        "<p>Each mark is a case; the lines are what this machine reached in the same run at a matrix product, an exp "
        "loop and a copy.</p>\n<div class=\"charts roofline\" data-run=\"{}\"></div>\n",
        run);
  out += fmt::format(
      "<h3>Error against fp64</h3>\n<p>The largest absolute error of each case beside what it is held to. Under the "
      "line "
      "is right; cases without any error are in the tables alone.</p>\n<div class=\"charts error\" "
      "data-run=\"{}\"></div>\n",
      run);
}

void add_run(std::string& out, const Json& document, std::size_t run) {
  const Json& r = document["runs"][run];
  const std::string place = fmt::format("/runs/{}", run);
  const Json& made = r["result"]["made"];
  out += fmt::format("<section id=\"run-{}\">\n<h2>{} <small>{}</small></h2>\n", run, machine_name(r["result"]),
                     text_at(r, "file"));
  out += fmt::format("<p>{} cases, {} correct, {} timed; made {}, flashfit {} {}",
                     figure(document, place + "/counts/cases", Looks::kCount),
                     figure(document, place + "/counts/correct", Looks::kCount),
                     figure(document, place + "/counts/timed", Looks::kCount), text_at(made, "at"),
                     text_at(made, "flashfit"), text_at(made, "revision"));
  if (r["dollars_per_hour"].is_number())
    out += fmt::format("; $ {} an hour", figure(document, place + "/dollars_per_hour"));
  out += ".</p>\n";
  add_notices(out, document, run);
  out += peers_table(document, run);
  add_charts(out, document, run);
  out += "<h3>Cells</h3>\n" + cells_table(document, run);
  out += profile_tables(document, run);
  out += fmt::format("<div id=\"wrong-{}\">{}</div>\n", run, failures_tables(document, run));
  out += "<h3>Environment</h3>\n" + environment_tables(document, run) + "</section>\n";
}

}  // namespace

std::string report_html(const Json& document) {
  const Json& runs = document["runs"];
  std::vector<std::string> machines;
  for (const Json& run : runs)
    if (const std::string name = machine_name(run["result"]); std::ranges::find(machines, name) == machines.end())
      machines.push_back(name);
  const std::string title = fmt::format("flashfit on {}", fmt::join(machines, ", "));
  std::string out(kHead);
  out += "<title>" + title + "</title>\n<style>\n";
  out.append(_binary_page_css_start, _binary_page_css_end);
  out += "</style></head><body>\n<h1>" + title + "</h1>\n";
  out += fmt::format(
      "<p class=\"legend\">Over another: its time divided by flashfit's, so above 1 flashfit is faster, with the 95 % "
      "interval. <span class=\"faster\">▲ faster</span> <span class=\"slower\">▼ slower</span> <span class=\"same\">= "
      "same</span> <span class=\"unclear\">? can't tell</span> at a margin of {}, the whole interval on one "
      "side.</p>\n",
      figure(document, "/margin", Looks::kPercent));
  out += "<noscript><p class=\"notice\">Charts need scripts; every number is in the tables.</p></noscript>\n";
  if (runs.size() > 1) {
    out += "<ul>\n";
    for (std::size_t i = 0; i < runs.size(); ++i)
      out += fmt::format("<li><a href=\"#run-{}\">{}</a> {}</li>\n", i, machine_name(runs[i]["result"]),
                         text_at(runs[i], "file"));
    out += "</ul>\n" + side_by_side_table(document);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) add_run(out, document, i);
  out += "<script type=\"application/json\" id=\"data\">" + json_in_script(document) + "</script>\n<script>\n";
  out.append(_binary_chart_min_js_start, _binary_chart_min_js_end);
  out += "</script>\n<script>\n";
  out.append(_binary_page_js_start, _binary_page_js_end);
  return out + "</script>\n</body></html>\n";
}

}  // namespace flashfit::results
