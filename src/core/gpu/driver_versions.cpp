#include "core/gpu/driver_versions.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

namespace flashfit {
namespace {

struct Branch {
  int number;
  CudaVersion cuda;
};

// NVIDIA CUDA Toolkit Release Notes, table "CUDA Toolkit and Corresponding Driver Versions" (Linux).
constexpr Branch kBranches[] = {
    {390, 9010},  {396, 9020},  {410, 10000}, {418, 10010}, {440, 10020}, {450, 11000}, {455, 11010},
    {460, 11020}, {465, 11030}, {470, 11040}, {495, 11050}, {510, 11060}, {515, 11070}, {520, 11080},
    {525, 12000}, {530, 12010}, {535, 12020}, {545, 12030}, {550, 12040}, {555, 12050}, {560, 12060},
    {565, 12070}, {570, 12080}, {575, 12090}, {580, 13000}, {590, 13010}, {595, 13020},
};
constexpr int kNewestPlausibleCuda = 20;  // above it a number is a driver branch, below it a CUDA major version

// "535.54.03" -> {535, 54, 3}; nothing else than digits and dots is a version.
std::optional<std::vector<int>> numbers(std::string_view text) {
  std::vector<int> parts;
  while (true) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0 || value > 99999) return std::nullopt;
    parts.push_back(value);
    text.remove_prefix(end - text.data());
    if (text.empty()) return parts;
    if (text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
  }
}

}  // namespace

Result<CudaVersion> parse_driver(std::string_view text) {
  const std::string_view given = text;
  for (const std::string_view word : {"CUDA ", "cuda ", "CUDA", "cuda"})
    if (text.starts_with(word)) {
      text.remove_prefix(word.size());
      break;
    }
  if (const auto parts = numbers(text)) {
    const int first = parts->front();
    if (first <= kNewestPlausibleCuda && parts->size() == 2 && first >= 9 && parts->at(1) <= 9)
      return first * 1000 + parts->at(1) * 10;
    if (first >= kBranches[0].number && first < 1000 && parts->size() <= 3 && text == given) {
      CudaVersion cuda = 0;
      for (const Branch& b : kBranches)
        if (b.number <= first) cuda = b.cuda;
      return cuda;
    }
  }
  return fail(Code::kInvalidArgument,
              fmt::format("driver '{}': give a driver branch or release (390 to 999: \"535\", \"535.54.03\") "
                          "or its CUDA version (9.0 or newer: \"12.2\")",
                          given));
}

std::string str(CudaVersion version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

int first_branch(CudaVersion version) {
  for (const Branch& b : kBranches)
    if (b.cuda >= version) return b.number;
  return 0;
}

CudaVersion first_driver_for(ComputeCapability gpu) { return gpu.major >= 10 ? 12080 : 0; }

}  // namespace flashfit
