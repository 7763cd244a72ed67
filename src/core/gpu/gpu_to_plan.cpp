#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"
#include "core/gpu/gpu_names.hpp"

namespace flashfit {
namespace {

/// How many characters two names begin alike with: 6 for "RTX 4080" and "RTX 4090".
std::ptrdiff_t alike(std::string_view a, std::string_view b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

/// Whose figures stand for a part that has none.
const Gpu& stand_in(const NamedGpu& part) {
  const Gpu *same = nullptr, *before = nullptr;
  for (const Gpu& listed : gpu_table()) {
    if (listed.cc == part.cc && (same == nullptr || alike(listed.name, part.name) > alike(same->name, part.name)))
      same = &listed;
    if (listed.cc < part.cc && (before == nullptr || before->cc < listed.cc)) before = &listed;
  }
  return same != nullptr ? *same : before != nullptr ? *before : gpu_table().front();
}

}  // namespace

Result<Gpu> gpu_to_plan(std::string_view text) {
  if (auto gpu = find_gpu(text)) return gpu;
  const auto part = name_gpu(text);
  if (!part) return tl::unexpected(part.error());
  const bool capability_alone = part->name.ends_with(part->cc.str());
  if (capability_alone)
    if (auto gpu = find_gpu(part->cc.str())) return gpu;
  // A board of another form and a laptop's part have other figures than the part that they are named after.
  const auto named_after = find_gpu(part->name);
  Gpu gpu = named_after ? *named_after : stand_in(*part);
  gpu.name = fmt::format("{} (figures of {})", named_after ? std::string(trimmed(text)) : part->name, gpu.name);
  gpu.cc = part->cc;
  return gpu;
}

}  // namespace flashfit
