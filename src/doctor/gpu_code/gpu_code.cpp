#include "doctor/gpu_code/gpu_code.hpp"

#include <charconv>

namespace flashfit::doctor {

std::string GpuTarget::str() const {
  return fmt::format("{}.{}{}", architecture / 10, architecture % 10, suffix_of(scope));
}

std::optional<GpuTarget> parse_gpu_target(std::string_view text) {
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (!text.starts_with(prefix)) continue;
    text.remove_prefix(prefix.size());
    GpuTarget target;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), target.architecture);
    // 1.0 was the first; three digits are what toolkits write.
    if (error != std::errc() || target.architecture < 10 || target.architecture > 999) return std::nullopt;
    const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
    if (rest.starts_with('a')) target.scope = TargetScope::kArchitecture;
    if (rest.starts_with('f')) target.scope = TargetScope::kFamily;
    return target;
  }
  return std::nullopt;
}

}  // namespace flashfit::doctor
