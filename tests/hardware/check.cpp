#include "hardware/check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace flashfit::hardware {
namespace {

std::string text(float x) { return fmt::format("{} ({:08x})", x, std::bit_cast<std::uint32_t>(x)); }
std::string text(std::uint32_t x) { return fmt::format("{:08x}", x); }

template <class T>
void add(Agreement& a, const std::string& what, std::size_t i, T gpu, T emulator, bool equal) {
  ++a.compared;
  a.equal += equal;
  if (!equal && a.first.empty())
    a.first = fmt::format("{}[{}]: GPU {}, emulator {}", what, i, text(gpu), text(emulator));
}

}  // namespace

Agreement compare(const std::string& what, std::span<const float> gpu, std::span<const float> emulator) {
  Agreement a;
  for (std::size_t i = 0; i < gpu.size(); ++i) {
    const bool same = std::bit_cast<std::uint32_t>(gpu[i]) == std::bit_cast<std::uint32_t>(emulator[i]);
    const bool nan = std::isnan(gpu[i]) && std::isnan(emulator[i]);
    a.nan_payloads += nan && !same;
    if (const double d = std::abs(double{gpu[i]} - double{emulator[i]}); std::isfinite(d))
      a.largest = std::max(a.largest, d);
    add(a, what, i, gpu[i], emulator[i], same || nan);
  }
  return a;
}

Agreement compare(const std::string& what, std::span<const std::uint32_t> gpu,
                  std::span<const std::uint32_t> emulator) {
  Agreement a;
  for (std::size_t i = 0; i < gpu.size(); ++i) add(a, what, i, gpu[i], emulator[i], gpu[i] == emulator[i]);
  return a;
}

Json to_json(const Agreement& a) {
  Json j = {{"compared", a.compared}, {"equal", a.equal}, {"share", a.share()}};
  if (a.nan_payloads > 0) j["nan_payloads_that_differ"] = a.nan_payloads;
  if (a.largest > 0) j["largest_difference"] = a.largest;
  if (!a.first.empty()) j["first_difference"] = a.first;
  return j;
}

void Outcome::demand(const std::string& key, const Agreement& a) {
  kept[key] = to_json(a);
  if (a.equal != a.compared)
    fail(fmt::format("{}: {} of {} differ, first {}", key, a.compared - a.equal, a.compared, a.first));
}

void Outcome::fail(const std::string& why) {
  passed = false;
  if (message.empty()) message = why;
}

}  // namespace flashfit::hardware
