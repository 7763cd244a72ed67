#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/ascii.hpp"
#include "core/gpu/driver_versions.hpp"
#include "doctor/binaries/demangle.hpp"
#include "doctor/pasted/find_errors.hpp"

namespace flashfit::doctor::pasted {
namespace {

/// "0x28000" -> "163840"; what is no such number stays as it is.
std::string decimal(const std::string& text) {
  if (!text.starts_with("0x")) return text;
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 2, end, value, 16);
  return error == std::errc{} && stop == end ? std::to_string(value) : text;
}

/// "56.75" kilobytes -> "58112"; "" if it is no such number.
std::string bytes_of(const std::string& kilobytes) {
  double value = 0;
  const char* const end = kilobytes.data() + kilobytes.size();
  const auto [stop, error] = std::from_chars(kilobytes.data(), end, value);
  constexpr double kMost = 1e9, kKilobyte = 1024;
  const bool counts = value >= 0 && value < kMost;  // NaN does not
  if (error != std::errc{} || stop != end || !counts) return "";
  return std::to_string(static_cast<std::int64_t>(value * kKilobyte));
}

/// "75" -> "7.5", "120" -> "12.0": a compute capability as programs count it; what is no such number stays as it is.
void add_dot(std::string& capability) {
  const bool digits = std::all_of(capability.begin(), capability.end(), [](char c) { return is_digit(c); });
  if (digits && (capability.size() == 2 || capability.size() == 3))
    capability = fmt::format("{}.{}", capability.substr(0, capability.size() - 1), capability.back());
}

/// "3.12" of "3.12.3".
std::string_view minor_release(std::string_view version) {
  const std::size_t first = version.find('.');
  return version.substr(0, first == std::string_view::npos ? first : version.find('.', first + 1));
}

/// Leaves of what a package was built for and what is here the pairs that differ, where a message has both PyTorch and
/// Python.
void keep_what_differs(Fields& fields) {
  const auto python = fields.find("python"), python_here = fields.find("python_here");
  if (python == fields.end() || python_here == fields.end()) return;
  if (minor_release(python->second) == minor_release(python_here->second)) {
    fields.erase(python);
    fields.erase(python_here);
    return;
  }
  const auto built = fields.find("built"), here = fields.find("here");
  if (built == fields.end() || here == fields.end() || built->second != here->second) return;
  fields.erase(built);
  fields.erase(here);
}

void move_field(Fields& fields, const char* from, const char* to) {
  if (auto node = fields.extract(from)) {
    node.key() = to;
    fields.insert(std::move(node));
  }
}

}  // namespace

void derive_fields(Fields& fields) {
  // What stands between them, as extras and markers, is left out.
  if (auto pin = fields.extract("pin")) fields["requirement"] += pin.mapped();
  // A name may stand but once in a pattern.
  move_field(fields, "here2", "here");
  keep_what_differs(fields);
  for (const auto& [from, to] : {std::pair("kilobytes", "bytes"), std::pair("limit_kilobytes", "limit")})
    if (const auto field = fields.find(from); field != fields.end()) {
      if (std::string bytes = bytes_of(field->second); !bytes.empty()) fields[to] = std::move(bytes);
      fields.erase(from);
    }
  if (const auto major = fields.find("sm_major"), minor = fields.find("sm_minor");
      major != fields.end() && minor != fields.end()) {
    fields["capability"] = major->second + "." + minor->second;
    fields.erase("sm_major");
    fields.erase("sm_minor");
  }
  for (const char* field : {"wants", "capability"})
    if (const auto found = fields.find(field); found != fields.end()) add_dot(found->second);
  for (const char* number : {"bytes", "limit"})
    if (const auto field = fields.find(number); field != fields.end()) field->second = decimal(field->second);
  if (const auto symbol = fields.find("symbol"); symbol != fields.end())
    fields["name"] = doctor::demangled(symbol->second, 300);
  if (const auto version = fields.find("version"); version != fields.end())
    fields["family"] = version->second.substr(0, version->second.rfind('_') + 1);
  if (const auto kernel = fields.find("kernel"); kernel != fields.end())
    kernel->second = doctor::demangled(kernel->second, 300);
  // Of the driver: of a library it is that library's own version.
  if (const auto found = fields.find("found"); found != fields.end() && !fields.contains("library")) {
    CudaVersion version = 0;
    const auto& text = found->second;
    const char* const end = text.data() + text.size();
    if (const auto [stop, error] = std::from_chars(text.data(), end, version);
        error == std::errc{} && stop == end && version >= 1000)
      fields["found_cuda"] = str(version);
  }
}

}  // namespace flashfit::doctor::pasted
