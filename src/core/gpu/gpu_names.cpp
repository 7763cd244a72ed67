#include "core/gpu/gpu_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "core/gpu/gpu.hpp"
#include "core/gpu/gpu_key.hpp"

namespace flashfit {
namespace {

constexpr std::size_t kLongestName = 100;

struct Parts {
  int cc;
  std::string_view names;  ///< with '|' between
};

// Parts that gpu_table() has no figures for. Source: NVIDIA's lists of GPUs and their compute capability
// ("CUDA GPU Compute Capability" and "Legacy CUDA GPU Compute Capability"). A name that stands for chips of several
// capabilities (Titan X alone, RTX 6000, GTX 860M) is left out.
constexpr Parts kParts[] = {
    {35, "K20|K40|GTX Titan Black"},
    {37, "K80"},
    {50, "GTX 750|GTX 750 Ti|M10|Quadro M1200"},
    {52, "GTX 950|GTX 960|GTX 970|GTX 980|GTX 980 Ti|GTX Titan X|M4|M40|M60|Quadro M4000|Quadro M5000|Quadro M6000"},
    {53, "Jetson Nano|Jetson TX1"},
    {60, "P100|Quadro GP100"},
    {61,
     "P4|P6|P40|MX150|MX250|MX330|MX350|GT 1030|GTX 1050|GTX 1050 Ti|GTX 1060|GTX 1070|GTX 1070 Ti|GTX 1080|"
     "GTX 1080 Ti|Titan X (Pascal)|Titan Xp|Quadro P400|"
     "Quadro P600|Quadro P620|Quadro P1000|Quadro P2000|Quadro P2200|Quadro P4000|Quadro P5000|Quadro P6000"},
    {62, "Jetson TX2"},
    {70, "V100S|Titan V|Quadro GV100"},
    {72, "Jetson Xavier|Jetson AGX Xavier|Jetson Xavier NX"},
    {75,
     "T4G|MX450|MX550|GTX 1630|GTX 1650|GTX 1650 Ti|GTX 1650 Super|GTX 1660|GTX 1660 Ti|GTX 1660 Super|RTX 2060|RTX "
     "2060 Super|RTX 2070|"
     "RTX 2070 Super|RTX 2080|RTX 2080 Super|Titan RTX|Quadro RTX 3000|Quadro RTX 4000|Quadro RTX 5000|"
     "Quadro RTX 6000|Quadro RTX 8000|T400|T500|T600|T1000|T1200|T2000|Quadro T1000|Quadro T2000"},
    {80, "A800|A100X|A30X"},
    {86,
     "A2|A10G|A16|MX570|RTX 2050|RTX 3050|RTX 3050 Ti|RTX 3060|RTX 3060 Ti|RTX 3070|RTX 3070 Ti|RTX 3080|RTX 3080 "
     "Ti|RTX 3090 Ti|"
     "RTX A400|RTX A500|RTX A1000|RTX A2000|RTX A3000|RTX A4000|RTX A4500|RTX A5000|RTX A5500|RTX A6000"},
    {87, "Jetson Orin NX|Jetson Orin Nano"},
    {89,
     "L2|L20|L40G|RTX 4050|RTX 4060|RTX 4060 Ti|RTX 4070|RTX 4070 Super|RTX 4070 Ti|RTX 4070 Ti Super|RTX 4080|"
     "RTX 4080 Super|RTX 4090 D|RTX 500 Ada|RTX 1000 Ada|RTX 2000 Ada|RTX 3000 Ada|RTX 3500 Ada|RTX 4000 Ada|RTX 4500 "
     "Ada|RTX 5000 Ada|RTX 5880 Ada|RTX 6000 Ada"},
    {90, "H20|H800"},
    {100, "B100"},
    {120,
     "RTX 5050|RTX 5060|RTX 5060 Ti|RTX 5070|RTX 5070 Ti|RTX 5080|RTX 5090 D|RTX PRO 500|RTX PRO 1000|RTX PRO 2000|RTX "
     "PRO 3000|RTX PRO 4000|RTX PRO 4500|"
     "RTX PRO 5000"},
};

std::vector<NamedGpu> all_named() {
  std::vector<NamedGpu> all;
  for (const Gpu& g : gpu_table()) all.push_back({g.name, g.cc});
  for (const Parts& parts : kParts)
    for (const std::string_view name : split(parts.names, '|'))
      all.push_back({std::string(name), {parts.cc / 10, parts.cc % 10}});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.cc < b.cc; });
  return all;
}

// "A100-10C", "A100-1-5C": a vGPU's profile, the share of the GPU named that it has (NVIDIA, "Virtual GPU Software User
// Guide", "Virtual GPU Types").
std::string_view without_profile(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return name;
  const std::string_view size = name.substr(dash + 1);
  const bool is_profile = size.size() >= 2 &&
                          std::string_view("abcqABCQ").find(size.back()) != std::string_view::npos &&
                          std::all_of(size.begin(), size.end() - 1, is_digit);
  if (!is_profile) return name;
  name = name.substr(0, dash);
  const bool of_slice = name.size() > 2 && name[name.size() - 2] == '-' && is_digit(name.back());
  return of_slice ? name.substr(0, name.size() - 2) : name;
}

// The words of a board's form or a product line that change nothing about the compute capability.
std::string without_form(std::string_view name) {
  constexpr std::string_view kForms[] = {"laptop", "mobile", "pcie", "nvl",    "generation", "sff",
                                         "max",    "q",      "with", "design", "grid"};
  std::string out, text = lower(without_profile(name));
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '-' || c == '_' || is_space(c); }, ' ');
  for (const std::string_view word : split(text, ' ')) {
    if (word == "mig") break;  // "NVIDIA A100-SXM4-40GB MIG 1g.5gb": a slice of the GPU named
    if (word.empty() || std::find(std::begin(kForms), std::end(kForms), word) != std::end(kForms)) continue;
    out.append(out.empty() ? "" : " ").append(word);
  }
  return out;
}

// Compute capabilities that exist: those of the parts above, and what has no part with a name of its own yet.
bool exists(ComputeCapability cc) {
  if (cc == ComputeCapability{8, 8} || cc == ComputeCapability{10, 1}) return true;
  return std::any_of(named_gpus().begin(), named_gpus().end(), [&](const NamedGpu& g) { return g.cc == cc; });
}

// "8.9", "sm_89", "sm89", "compute_90a", "cc 8.9" -> 8.9; nullopt where it is not written as a capability.
std::optional<ComputeCapability> capability(std::string_view given) {
  const std::string all = lower(trimmed(given));
  std::string_view text = all;
  bool named = false;
  for (const std::string_view word : {"compute_", "sm_", "compute", "sm", "cc"})
    if (text.starts_with(word)) {
      text = trimmed(text.substr(word.size()));
      named = true;
      break;
    }
  if (text.ends_with('a') || text.ends_with('f')) text.remove_suffix(1);
  const std::size_t dot = text.find('.');
  std::string digits(text.substr(0, dot));
  if (dot != std::string_view::npos) digits += text.substr(dot + 1);
  const bool numbers = digits.size() >= 2 && digits.size() <= 3 && std::all_of(digits.begin(), digits.end(), is_digit);
  if (!numbers || (dot == std::string_view::npos ? !named : text.size() - dot != 2)) return std::nullopt;
  const int decimal = std::stoi(digits);
  return ComputeCapability{decimal / 10, decimal % 10};
}

// gpu_key of each of named_gpus(), in its order.
const std::vector<std::string>& keys() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made;
    for (const NamedGpu& g : named_gpus()) made.push_back(gpu_key(g.name, false));
    return made;
  }();
  return all;
}

const NamedGpu* find_key(const std::string& key) {
  const auto found = std::find(keys().begin(), keys().end(), key);
  return key.empty() || found == keys().end() ? nullptr
                                              : &named_gpus()[static_cast<std::size_t>(found - keys().begin())];
}

std::string digits_of(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), is_digit);
  return out;
}

// Names that are one letter away, hold the key or are held by it, or have the same number, such as 6000; nearest first.
std::vector<std::string_view> near(const std::string& key) {
  constexpr std::size_t kMostShown = 6;
  std::vector<std::pair<std::size_t, std::string_view>> close;
  for (std::size_t i = 0; i < keys().size(); ++i) {
    const std::string& other = keys()[i];
    const std::size_t distance = edit_distance(key, other);
    const bool inside =
        key.size() >= 3 && (other.find(key) != std::string::npos || key.find(other) != std::string::npos);
    const bool same_number = digits_of(key).size() >= 3 && digits_of(key) == digits_of(other);
    if (key.size() >= 2 && (distance <= 1 || inside || same_number)) close.emplace_back(distance, named_gpus()[i].name);
  }
  std::stable_sort(close.begin(), close.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> names;
  for (const auto& [distance, name] : close)
    if (names.size() < kMostShown) names.push_back(name);
  return names;
}

}  // namespace

std::span<const NamedGpu> named_gpus() {
  static const std::vector<NamedGpu> all = all_named();
  return all;
}

Result<NamedGpu> name_gpu(std::string_view text) {
  const auto refuse = [&](std::string_view what) {
    return fail(Code::kInvalidArgument, fmt::format("gpu '{}': {}", printable(text, kLongestName), what));
  };
  if (text.size() > kLongestName) return refuse(fmt::format("longer than {} characters", kLongestName));
  if (const auto cc = capability(text)) {
    if (exists(*cc)) return NamedGpu{"compute capability " + cc->str(), *cc};
    return refuse("no GPU has this compute capability");
  }
  if (const auto gpu = find_gpu(text)) return NamedGpu{gpu->name, gpu->cc};
  const std::string plain = without_form(text);
  // "4090" and "A6000" are an RTX 4090 and an RTX A6000; what several lines have (6000) none of these names is.
  for (const std::string_view line : {"", "rtx ", "gtx "}) {
    const std::string name = std::string(line) + plain;
    for (const bool drop_memory_size : {false, true})
      if (const NamedGpu* g = find_key(gpu_key(name, drop_memory_size))) return *g;
    if (const auto gpu = find_gpu(name)) return NamedGpu{gpu->name, gpu->cc};
  }
  if (const auto cc = capability("sm_" + std::string(text)); cc && exists(*cc))
    return refuse(fmt::format("not known; did you mean {}?", cc->str()));
  if (const auto names = near(gpu_key(plain, true)); !names.empty())
    return refuse(fmt::format("not known; did you mean {}?", fmt::join(names, ", ")));
  return refuse(
      "not known; accepted: a name such as L40, RTX 4090 or Jetson Orin, or a compute capability such as 8.9");
}

}  // namespace flashfit
