// One page that needs nothing else: the matrix of files and GPUs, the problems, and the pages of their codes.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "cli/doctor/codes.hpp"
#include "cli/doctor/redacted.hpp"
#include "cli/doctor/report.hpp"
#include "core/base/html_text.hpp"
#include "core/base/printable.hpp"

namespace flashfit::cli {
namespace {

using doctor::GpuCoverage;
using doctor::Problem;
using doctor::TargetReport;

constexpr std::size_t kMostRows = 400;  // of one target

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>flashfit doctor</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #222; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .6rem 0; display: block; overflow-x: auto; }
th, td { border: 1px solid #ddd; padding: .25rem .5rem; text-align: left; vertical-align: top; }
th { background: #f6f6f6; } td.path { font-family: ui-monospace, monospace; font-size: .85rem; overflow-wrap: anywhere; }
.fits, .sass { background: #e3f4e3; } .degraded, .part, .ptx-jit { background: #fff3d1; }
.misfit, .host, .no { background: #fbdfdf; } .unknown, .none { background: #eee; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; } section { border-top: 1px solid #ddd; }
.verdict { padding: .1rem .5rem; border-radius: .3rem; } code { background: #f3f3f3; padding: .1rem .3rem; }
</style></head><body>
)";

/// Of others, for a page that is passed on.
std::string text(std::string_view of_others) { return html_escaped(redacted(of_others)); }
std::string path_words(const std::string& path) { return text(printable(path, 300)); }

/// A link to the code's page further down; the code alone where it has none.
std::string code_link(const std::string& code) {
  if (page_of_code(code).empty()) return html_escaped(code);
  return fmt::format("<a href=\"#{0}\">{0}</a>", code);
}

void add_pages(std::string& out, const std::set<std::string>& codes) {
  for (const std::string& code : codes)
    if (const std::string_view page = page_of_code(code); !page.empty())
      out += fmt::format("<section id=\"{}\"><pre>{}</pre></section>\n", code, html_escaped(page));
}

/// Escaped text whose codes are links; they are added to `codes`.
std::string linked(std::string_view escaped, std::set<std::string>& codes) {
  constexpr std::size_t kCode = 5;
  std::string out;
  for (std::size_t at = 0; at < escaped.size();) {
    const std::string word(escaped.substr(at, kCode));
    if (!looks_like_code(word) || page_of_code(word).empty()) {
      out += escaped[at++];
      continue;
    }
    out += code_link(word);
    codes.insert(word);
    at += kCode;
  }
  return out;
}

void add_cell(std::string& out, const GpuCoverage& c, std::size_t containers) {
  if (containers == 0) {
    out += "<td class=\"none\">-</td>";
    return;
  }
  const bool part = c.covered > 0 && c.covered < containers;
  out += fmt::format("<td class=\"{}\">{}{}</td>", part ? "part" : name_of(c.best), name_of(c.best),
                     part ? fmt::format(" {} of {}", c.covered, containers) : "");
}

void add_matrix(std::string& out, const TargetReport& r, const DoctorReport& report) {
  const auto& gpus = report.question.gpus;
  std::size_t with_code = 0;
  std::string rows;
  for (std::size_t b = 0; b < r.target.binaries.size(); ++b) {
    const auto& binary = r.target.binaries[b];
    if (binary.containers.empty() || ++with_code > kMostRows) continue;
    rows += fmt::format("<tr><td class=\"path\">{}</td>",
                        binary.path.empty() ? path_words(r.target.file_name) : path_words(binary.path));
    for (const GpuCoverage& c : r.coverage[b]) add_cell(rows, c, counted_containers(binary));
    rows += "</tr>\n";
  }
  if (with_code == 0) return;
  out += "<table><tr><th>binary</th>";
  for (const auto& gpu : gpus) out += "<th>" + html_escaped(printable(gpu.asked, 60)) + "</th>";
  out += "</tr>\n" + rows + "</table>\n";
  if (with_code > kMostRows) out += fmt::format("<p>and {} more binaries</p>\n", with_code - kMostRows);
}

void add_target(std::string& out, const TargetReport& r, const DoctorReport& report) {
  out += fmt::format("<h2>{} <span class=\"verdict {}\">{}</span></h2>\n", path_words(r.target.target),
                     name_of(r.verdict), name_of(r.verdict));
  add_matrix(out, r, report);
  if (!r.problems.empty()) {
    out += "<table><tr><th>code</th><th>where</th><th>what</th><th>what would fit</th></tr>\n";
    for (std::size_t i = 0; i < std::min(r.problems.size(), kMostRows); ++i) {
      const Problem& p = r.problems[i];
      out += fmt::format("<tr class=\"{}\"><td>{}</td><td class=\"path\">{}</td><td>{}</td><td>{}</td></tr>\n",
                         name_of(verdict_of(p.severity)), code_link(p.code), path_words(p.member), text(p.message),
                         text(p.fix));
    }
    out += "</table>\n";
  }
  if (!r.mend.empty()) out += fmt::format("<p>Try: <code>{}</code> ({})</p>\n", text(r.mend), text(r.mend_why));
  if (!r.look_for.empty()) out += fmt::format("<p>Look for {}</p>\n", text(r.look_for));
}

}  // namespace

std::string doctor_html(const DoctorReport& report) {
  std::string out(kHead);
  const doctor::Verdict verdict = worst(report.targets);
  out += fmt::format("<h1>flashfit doctor: <span class=\"verdict {}\">{}</span></h1>\n<p>Asked: {}</p>\n",
                     name_of(verdict), name_of(verdict), text(asked_words(report)));
  for (const std::string& line : report.assumed) out += "<p>" + text(line) + "</p>\n";
  for (const TargetReport& r : report.targets) add_target(out, r, report);
  std::set<std::string> codes;
  for (const TargetReport& r : report.targets)
    for (const Problem& p : r.problems) codes.insert(p.code);
  add_pages(out, codes);
  return out + "</body></html>\n";
}

bool wrote_html(const std::string& file, const std::string& page) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << page;
  if (out.flush()) return true;
  fmt::print(stderr, "flashfit: --html '{}': cannot be written\n", file);
  return false;
}

std::string text_html(std::string_view report) {
  std::set<std::string> codes;
  std::string out(kHead);
  out += "<h1>flashfit doctor</h1>\n<pre>" + linked(text(report), codes) + "</pre>\n";
  add_pages(out, codes);
  return out + "</body></html>\n";
}

}  // namespace flashfit::cli
