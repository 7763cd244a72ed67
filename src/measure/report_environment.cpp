#include "measure/report_environment.hpp"

#include <fmt/format.h>

#include "core/base/html_text.hpp"
#include "measure/page_figure.hpp"

namespace flashfit::results {
namespace {

using Json = nlohmann::ordered_json;

/// Nested objects become rows of "outer · inner"; the reader's limit of depth bounds the recursion.
// NOLINTNEXTLINE(misc-no-recursion)
void add_rows(std::string& out, const Json& document, const Json& value, const std::string& name,
              const std::string& place) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      add_rows(out, document, inner, name.empty() ? key : fmt::format("{} · {}", name, key), place + step(key));
    return;
  }
  std::string words;
  if (value.is_number())
    words = figure(document, place, value.is_number_integer() ? Looks::kCount : Looks::kPlain);
  else if (value.is_string())
    words = html_escaped(value.get<std::string>());
  else if (value.is_null())
    words = "none";
  else
    words = html_escaped(value.dump());
  out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", html_escaped(name), words);
}

}  // namespace

std::string environment_tables(const Json& document, std::size_t run) {
  std::string out;
  const Json& result = document["runs"][run]["result"];
  for (const char* part : {"made", "machine", "versions", "method", "ceilings"}) {
    if (!result.contains(part)) continue;
    std::string rows;
    add_rows(rows, document, result[part], result[part].is_object() ? "" : part,
             fmt::format("/runs/{}/result/{}", run, part));
    if (!rows.empty()) out += fmt::format("<table><caption>{}</caption><tbody>\n{}</tbody></table>\n", part, rows);
  }
  return "<div class=\"environment\">\n" + out + "</div>\n";
}

}  // namespace flashfit::results
