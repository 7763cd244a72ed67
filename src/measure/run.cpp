#include "measure/run.hpp"

#include <flashfit/flashfit.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "measure/case_result.hpp"
#include "measure/machine.hpp"

namespace flashfit::measure {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

std::string version() {
  const std::uint32_t v = flashfit_version();
  return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

Json method(const Backend& b, const Options& o) {
  return {{"warmup", o.warmup},
          {"repeats", o.repeats},
          {"l2", b.l2_flushed ? "flushed" : "warm"},
          {"clock", b.launch == Launch::kHost ? "host" : "events"},
          {"noise", nullptr}};
}

Json json_of(const Noise& n) {
  return {{"half_width", n.half_width()},
          {"ratio", n.ratio.value},
          {"interval", {n.ratio.interval.low, n.ratio.interval.high}},
          {"case", n.name},
          {"rounds", n.rounds},
          {"how", "the case beside itself, in turn, in one run"}};
}

Result<void> write(const Json& content, const Run& run) {
  if (!run.json_file.empty())
    if (Result<void> r = write_file(run.json_file, text_of(content)); !r) return r;
  return run.csv_file.empty() ? Result<void>{} : write_file(run.csv_file, csv_of(content.at("cases")));
}

}  // namespace

Result<Json> run_cases(const std::vector<Case>& cases, Backend& b, const Run& run) {
  const auto start = Clock::now();
  const std::string at = revision();
  Json content = {{"schema", 1},
                  {"made",
                   {{"at", timestamp()},
                    {"command", run.command},
                    {"flashfit", version()},
                    {"revision", at.empty() ? Json() : Json(at)},
                    {"seconds", 0.0},
                    {"complete", false}}},
                  {"machine", machine_json(run.gpu)},
                  {"versions", Json::object()},
                  {"method", method(b, run.options)},
                  {"ceilings", run.ceilings ? json_of(*run.ceilings) : Json()},
                  {"cases", Json::array()}};
  const auto save = [&](bool complete) {
    content["made"]["seconds"] = std::round(std::chrono::duration<double>(Clock::now() - start).count() * 10) / 10;
    content["made"]["complete"] = complete;
    return write(content, run);
  };
  if (Result<void> r = save(false); !r) return tl::unexpected(r.error());  // before minutes are spent
  bool noise_known = false;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    if (run.before) run.before(i, c.name);
    const std::optional<Measured> m = measure(c, b, run.options);
    if (!m) break;
    Json result = json_of(c, *m, b.launch, run.ceilings ? bound_of(c, *run.ceilings) : std::nullopt);
    result.erase("timed");
    result.erase("tolerance");
    if (run.profile && result.at("correct") == true) result["profile"] = run.profile(c);
    if (run.after) run.after(result);
    if (!noise_known && m->correct && !m->times.us.empty()) {
      if (const std::optional<Noise> noise = noise_of(c, b, run.options)) content["method"]["noise"] = json_of(*noise);
      noise_known = true;
    }
    content["cases"].push_back(std::move(result));
    if (Result<void> r = save(false); !r) return tl::unexpected(r.error());
  }
  if (Result<void> r = save(content.at("cases").size() == cases.size()); !r) return tl::unexpected(r.error());
  return content;
}

}  // namespace flashfit::measure
