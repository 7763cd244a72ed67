#include <charconv>

#include "errors/find_errors.hpp"
#include "gpu/driver_versions.hpp"
#include "inspect/ascii.hpp"
#include "inspect/demangle.hpp"

namespace flashfit::errors {
namespace {

/// "0x28000" -> "163840"; what is no such number stays as it is.
std::string decimal(const std::string& text) {
  if (!text.starts_with("0x")) return text;
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 2, end, value, 16);
  return error == std::errc{} && stop == end ? std::to_string(value) : text;
}

void move_field(Fields& fields, const char* from, const char* to) {
  if (auto node = fields.extract(from)) {
    node.key() = to;
    fields.insert(std::move(node));
  }
}

}  // namespace

void derive_fields(Fields& fields) {
  // A name may stand but once in a pattern.
  move_field(fields, "here2", "here");
  for (const char* number : {"bytes", "limit"})
    if (const auto field = fields.find(number); field != fields.end()) field->second = decimal(field->second);
  if (const auto symbol = fields.find("symbol"); symbol != fields.end())
    fields["name"] = inspect::demangled(symbol->second, 300);
  if (const auto version = fields.find("version"); version != fields.end())
    fields["family"] = version->second.substr(0, version->second.rfind('_') + 1);
  if (const auto kernel = fields.find("kernel"); kernel != fields.end())
    kernel->second = inspect::demangled(kernel->second, 300);
  if (const auto found = fields.find("found"); found != fields.end()) {
    CudaVersion version = 0;
    const auto& text = found->second;
    const char* const end = text.data() + text.size();
    if (const auto [stop, error] = std::from_chars(text.data(), end, version);
        error == std::errc{} && stop == end && version >= 1000)
      fields["found_cuda"] = str(version);
  }
}

}  // namespace flashfit::errors
