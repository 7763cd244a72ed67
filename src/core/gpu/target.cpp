#include "core/gpu/target.hpp"

#include <algorithm>
#include <charconv>

namespace flashfit {
namespace {

// Thor was 10.1 up to CUDA 12.9 and is 11.0 since 13.0: one chip, one set of machine code.
constexpr int current_name(int cc) { return cc == 101 ? 110 : cc; }

// Integrated GPUs whose machine code is their own, although their major is shared with others.
constexpr bool integrated(int cc) { return cc == 53 || cc == 62 || cc == 72 || cc == 87; }

/// Families by their members, oldest first. Source: PTX ISA manual, ".target", family-specific targets.
constexpr int kFamilies[][2] = {{100, 103}, {120, 121}};

}  // namespace

const char* suffix_of(TargetScope scope) {
  return scope == TargetScope::kArchitecture ? "a" : scope == TargetScope::kFamily ? "f" : "";
}

std::string Target::str() const {
  return ComputeCapability{cc / 10, cc % 10}.str() + suffix_of(scope) + (kind == Kind::kPtx ? "+PTX" : "");
}

std::optional<Target> parse_target(std::string_view text) {
  Target target;
  int major = 0, minor = 0;
  const auto take = [&](int& to) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (error == std::errc()) text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return error == std::errc();
  };
  if (!take(major) || !text.starts_with('.')) return std::nullopt;
  text.remove_prefix(1);
  if (!take(minor)) return std::nullopt;
  target.cc = ComputeCapability{major, minor}.decimal();
  for (const TargetScope scope : {TargetScope::kArchitecture, TargetScope::kFamily})
    if (text.starts_with(suffix_of(scope))) {
      target.scope = scope;
      text.remove_prefix(1);
      break;
    }
  if (text == "+PTX")
    target.kind = Target::Kind::kPtx;
  else if (!text.empty())
    return std::nullopt;
  // Both numbers are small and written in one way, or the text would not come back.
  return major > 0 && major < 100 && minor >= 0 && minor < 10 ? std::optional(target) : std::nullopt;
}

std::vector<ComputeCapability> family_from(ComputeCapability cc) {
  for (const auto& family : kFamilies) {
    const auto* const first = std::ranges::find(family, current_name(cc.decimal()));
    std::vector<ComputeCapability> members;
    for (const auto* m = first; m != std::end(family); ++m) members.push_back({*m / 10, *m % 10});
    if (!members.empty()) return members;
  }
  return {cc};
}

bool runs_on(Target target, ComputeCapability gpu) {
  const int image = current_name(target.cc), device = current_name(gpu.decimal());
  if (target.scope == TargetScope::kArchitecture) return image == device;
  if (target.scope == TargetScope::kFamily)
    return std::ranges::any_of(family_from({image / 10, image % 10}),
                               [&](ComputeCapability member) { return member.decimal() == device; });
  if (target.kind == Target::Kind::kPtx) return image <= device;
  if (integrated(image) || integrated(device)) return image == device;
  return image / 10 == device / 10 && image <= device;
}

bool driver_compiles_ptx(CudaVersion driver) { return driver == 0 || driver >= 12090; }

bool driver_loads_sass(CudaVersion driver) { return driver == 0 || driver >= 12000; }

}  // namespace flashfit
