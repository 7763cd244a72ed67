#include "measure/page_figure.hpp"

#include <fmt/format.h>

#include "core/base/html_text.hpp"
#include "measure/four_digits.hpp"

namespace flashfit::results {
namespace {

using Json = nlohmann::ordered_json;

std::string words(double x, Looks looks) {
  switch (looks) {
    case Looks::kPlain:
      return measure::four_digits(x);
    case Looks::kRatio:
      return fmt::format("{:.2f}", x);
    case Looks::kPercent:
      return fmt::format("{:.1f} %", 100 * x);
    case Looks::kError:
      return x == 0 ? "0" : fmt::format("{:.1e}", x);
    case Looks::kCount:
      return fmt::format("{:.0f}", x);
  }
  return "";
}

}  // namespace

std::string figure(const Json& document, const std::string& place, Looks looks) {
  const Json::json_pointer pointer(place);
  if (!document.contains(pointer) || !document.at(pointer).is_number()) return "–";
  return fmt::format("<data value=\"{}\">{}</data>", html_escaped(place),
                     words(document.at(pointer).get<double>(), looks));
}

std::string figure_interval(const Json& document, const std::string& place, Looks looks) {
  return fmt::format("<small>{} to {}</small>", figure(document, place + "/0", looks),
                     figure(document, place + "/1", looks));
}

std::string step(const std::string& key) {
  std::string out = "/";
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

}  // namespace flashfit::results
