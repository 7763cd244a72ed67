#include "runtime/api/settings.hpp"

#include <cstdlib>
#include <string_view>

#include "runtime/api/refuse.hpp"

namespace flashfit::api {
namespace {

std::string_view meant(const char* value) {
  const std::string_view text = value ? value : "";
  return text == "0" ? "" : text;
}

}  // namespace

Settings parse_settings(const char* log, const char* disable) {
  using enum Settings::Disable;
  const std::string_view what = meant(disable);
  return {.log = !meant(log).empty(),
          .disable = what.empty()    ? kNothing
                     : what == "1"   ? kAll
                     : what == "gpu" ? kGpu
                                     : kUnknown,
          .disable_value = std::string(what)};
}

const Settings& settings() {
  static const Settings& once =
      *new Settings(parse_settings(std::getenv("FLASHFIT_LOG"), std::getenv("FLASHFIT_DISABLE")));
  return once;
}

Result<void> check_enabled(const char* operation, bool on_gpu) {
  using enum Settings::Disable;
  const Settings& e = settings();
  if (e.disable == kNothing || (e.disable == kGpu && !on_gpu)) return {};
  if (e.disable == kUnknown) return refuse("FLASHFIT_DISABLE: \"{}\"; accepted: 1, gpu, 0 or nothing", e.disable_value);
  return fail(Code::kDisabled, fmt::format("{}: FLASHFIT_DISABLE={} is set; accepted: {}", operation, e.disable_value,
                                           e.disable == kGpu ? "tensors on the CPU" : "no call"));
}

}  // namespace flashfit::api
