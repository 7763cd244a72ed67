#include "measure/report_cells.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "core/base/html_text.hpp"
#include "measure/page_figure.hpp"

namespace flashfit::results {
namespace {

using Json = nlohmann::ordered_json;

std::string run_place(std::size_t run) { return fmt::format("/runs/{}", run); }

std::string text_at(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_string() ? html_escaped(json[key].get<std::string>())
                                                                         : "";
}

bool timed(const Json& c) { return c.contains("median_us") && c["median_us"].is_number(); }

const char* css_class(const std::string& verdict) { return verdict == "can't tell" ? "unclear" : verdict.c_str(); }

/// Not colour alone says a verdict.
const char* sign(const std::string& verdict) {
  return verdict == "faster" ? "▲" : verdict == "slower" ? "▼" : verdict == "same" ? "=" : "?";
}

void add_peer_cell(std::string& out, const Json& document, const std::string& figures, const std::string& place,
                   const std::string& peer) {
  const Json::json_pointer verdict_at(figures + "/peers" + step(peer) + "/verdict"),
      peer_at(place + "/peers" + step(peer));
  if (document.contains(verdict_at)) {
    const auto verdict = document.at(verdict_at).get<std::string>();
    out += fmt::format("<td class=\"{}\" title=\"flashfit is {}\">{} {}×<br>{}</td>", css_class(verdict),
                       html_escaped(verdict), sign(verdict),
                       figure(document, place + "/peers" + step(peer) + "/ratio", Looks::kRatio),
                       figure_interval(document, place + "/peers" + step(peer) + "/ratio_interval", Looks::kRatio));
  } else if (document.contains(peer_at)) {
    out += fmt::format("<td class=\"none\" title=\"{}\">no</td>", text_at(document.at(peer_at), "message"));
  } else {
    out += "<td class=\"none\">–</td>";
  }
}

std::vector<std::string> measured_peers(const Json& document, std::size_t run) {
  std::vector<std::string> names;
  for (const Json& peer : document["runs"][run]["peers"])
    if (peer["measured"].get<int>() > 0) names.push_back(peer["name"].get<std::string>());
  return names;
}

void add_row(std::string& out, const Json& document, std::size_t run, std::size_t index,
             const std::vector<std::string>& peers) {
  const std::string place = fmt::format("{}/result/cases/{}", run_place(run), index),
                    figures = fmt::format("{}/cases/{}", run_place(run), index);
  const Json& c = document["runs"][run]["result"]["cases"][index];
  const bool throttled = c.contains("throttled") && c["throttled"].is_array() && !c["throttled"].empty();
  out += fmt::format("<tr><th scope=\"row\">{}<br><small>{}{}</small></th>", text_at(c, "name"), text_at(c, "variant"),
                     throttled ? " · throttled" : "");
  out += fmt::format("<td>{}<br>{}</td>", figure(document, place + "/median_us"),
                     figure_interval(document, place + "/interval_us"));
  if (document["runs"][run]["dollars_per_hour"].is_number())
    out += fmt::format("<td>{}</td>", figure(document, figures + "/dollars_per_million"));
  out += fmt::format("<td>{}</td>", figure(document, figures + "/tflops"));
  out += fmt::format("<td>{}<br><small>{}</small></td>", figure(document, place + "/share", Looks::kPercent),
                     c.contains("bound_us") ? text_at(c["bound_us"], "binds") : "");
  for (const std::string& peer : peers) add_peer_cell(out, document, figures, place, peer);
  out += fmt::format("<td>{}<br><small>of {}</small></td>", figure(document, place + "/error", Looks::kError),
                     figure(document, place + "/error_bound", Looks::kError));
  out += "</tr>\n";
}

}  // namespace

std::string peers_table(const Json& document, std::size_t run) {
  const Json& peers = document["runs"][run]["peers"];
  if (peers.empty()) return "<p>Nothing else was measured beside flashfit.</p>\n";
  std::string out =
      "<div class=\"wide\"><table><thead><tr><th>beside</th><th>cases</th><th>measured</th><th>flashfit faster</th>"
      "<th>same</th><th>slower</th><th>can't tell</th><th>geometric mean</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const std::string place = fmt::format("{}/peers/{}", run_place(run), i);
    const auto count = [&](const char* key) { return figure(document, place + "/" + key, Looks::kCount); };
    const auto tint = [&](const char* key) {
      return peers[i][key].get<int>() > 0 ? fmt::format(" class=\"{}\"", key) : "";
    };
    out += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td{}>{}</td><td{}>{}</td><td{}>{}</td><td>{}</td>"
        "<td>{}</td></tr>\n",
        text_at(peers[i], "name"), count("cases"), count("measured"), tint("faster"), count("faster"), tint("same"),
        count("same"), tint("slower"), count("slower"), count("can't tell"),
        figure(document, place + "/geometric_mean", Looks::kRatio));
  }
  return out + "</tbody></table></div>\n";
}

std::string cells_table(const Json& document, std::size_t run) {
  const Json& cases = document["runs"][run]["result"]["cases"];
  const std::vector<std::string> peers = measured_peers(document, run);
  const bool priced = document["runs"][run]["dollars_per_hour"].is_number();
  // Costs first: a table with many peers is wider than a screen.
  std::string head = fmt::format("<thead><tr><th>case</th><th>µs a call</th>{}<th>TFLOP/s</th><th>of the bound</th>",
                                 priced ? "<th>$ a million calls</th>" : "");
  for (const std::string& peer : peers) head += "<th>over " + html_escaped(peer) + "</th>";
  head += "<th>error</th></tr></thead>\n";
  std::string out, group, need;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!timed(cases[i])) continue;
    if (text_at(cases[i], "group") != group || out.empty()) {
      if (!out.empty()) out += "</tbody></table></div>\n";
      group = text_at(cases[i], "group");
      need.clear();
      out += fmt::format("<h4>{}</h4>\n<div class=\"wide\"><table class=\"cells\">{}<tbody>\n", group, head);
    }
    if (const std::string stands_for = text_at(cases[i], "stands_for"); stands_for != need) {
      need = stands_for;
      out += fmt::format("<tr class=\"need\"><th colspan=\"{}\">{}</th></tr>\n", 5 + peers.size() + (priced ? 1 : 0),
                         need);
    }
    add_row(out, document, run, i, peers);
  }
  return out.empty() ? "<p>No case was timed.</p>\n" : out + "</tbody></table></div>\n";
}

std::string failures_tables(const Json& document, std::size_t run) {
  const Json& cases = document["runs"][run]["result"]["cases"];
  std::string wrong, declined;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> messages;  // peer and message: cases
  for (const Json& c : cases) {
    if (!c["correct"].get<bool>())
      wrong += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"slower\">{}</td></tr>\n", text_at(c, "name"),
                           text_at(c, "message"));
    if (!c.contains("peers") || !c["peers"].is_object()) continue;
    for (const auto& [peer, part] : c["peers"].items())
      if (!part["correct"].get<bool>()) messages[{peer, text_at(part, "message")}].push_back(text_at(c, "name"));
  }
  for (const auto& [key, names] : messages)
    declined += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}{}</td></tr>\n", html_escaped(key.first),
                            key.second, names.front(), names.size() > 1 ? " and more like it" : "");
  std::string out;
  if (!wrong.empty())
    out +=
        "<h3>Wrong</h3>\n<p>These have no times: what is wrong has no speed.</p>\n<div class=\"wide\"><table>"
        "<thead><tr><th>case</th><th>why</th></tr></thead><tbody>\n" +
        wrong + "</tbody></table></div>\n";
  if (!declined.empty())
    out +=
        "<h3>What others did not do</h3>\n<div class=\"wide\"><table><thead><tr><th>who</th><th>in its own words</th>"
        "<th>case</th></tr></thead><tbody>\n" +
        declined + "</tbody></table></div>\n";
  return out;
}

std::string side_by_side_table(const Json& document) {
  const Json& runs = document["runs"];
  std::vector<std::string> order;
  std::map<std::string, std::map<std::size_t, std::size_t>> places;  // case: run: index
  for (std::size_t run = 0; run < runs.size(); ++run)
    for (std::size_t i = 0; i < runs[run]["result"]["cases"].size(); ++i) {
      const Json& c = runs[run]["result"]["cases"][i];
      if (!timed(c)) continue;
      const auto name = c["name"].get<std::string>();
      if (!places.contains(name)) order.push_back(name);
      places[name][run] = i;
    }
  std::erase_if(order, [&](const std::string& name) { return places[name].size() < 2; });
  if (order.empty()) return "";
  std::set<std::size_t> shown;  // runs that share a case with another
  for (const std::string& name : order)
    for (const auto& [run, index] : places[name]) shown.insert(run);
  std::string rows;
  for (const std::string& name : order) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th>", html_escaped(name));
    for (const std::size_t run : shown) {
      const bool there = places[name].contains(run);
      const std::size_t index = there ? places[name][run] : 0;
      const std::string result = fmt::format("{}/result/cases/{}", run_place(run), index);
      const std::string cost = fmt::format("{}/cases/{}/dollars_per_million", run_place(run), index);
      rows +=
          there ? fmt::format("<td>{}</td><td>{}</td>", figure(document, result + "/median_us"), figure(document, cost))
                : "<td class=\"none\">–</td><td class=\"none\">–</td>";
    }
    rows += "</tr>\n";
  }
  std::string head = "<tr><th>case</th>";
  for (const std::size_t run : shown) {
    const std::string file = text_at(runs[run], "file");
    head += fmt::format("<th>{}<br>µs a call</th><th>{}<br>$ a million calls</th>", file, file);
  }
  return "<h2 id=\"side-by-side\">Side by side</h2>\n<div class=\"wide\"><table class=\"cells\"><thead>" + head +
         "</tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
}

}  // namespace flashfit::results
