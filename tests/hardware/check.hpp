#pragma once
// One comparison of a GPU with the emulator, and what it found.
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/gpu/target.hpp"
#include "proof/lab/device.hpp"

namespace flashfit::hardware {

using Json = nlohmann::ordered_json;

/// Bits that were compared, word by word. Two NaNs of different payloads are equal, and counted.
struct Agreement {
  std::int64_t compared = 0, equal = 0, nan_payloads = 0;
  std::string first;   ///< the first difference: where, what the GPU and what the emulator has; "" if there is none
  double largest = 0;  ///< absolute difference of numbers

  double share() const { return compared == 0 ? 1 : static_cast<double>(equal) / static_cast<double>(compared); }
};

/// Of two arrays of fp32, or of words whose names are written in hexadecimal.
Agreement compare(const std::string& what, std::span<const float> gpu, std::span<const float> emulator);
Agreement compare(const std::string& what, std::span<const std::uint32_t> gpu, std::span<const std::uint32_t> emulator);

Json to_json(const Agreement& a);

/// What a check answers: `passed`, `message` ("" if it passed), and whatever is worth keeping.
struct Outcome {
  bool passed = true;
  std::string message;
  Json kept = Json::object();

  /// Demands equality: keeps the numbers under `key`.
  void demand(const std::string& key, const Agreement& a);
  void fail(const std::string& why);
};

/// Where the hardware's answers come from. Without a device the emulator plays the GPU: a rehearsal of the checks.
struct Place {
  lab::Device* device = nullptr;
  ComputeCapability cc;
};

struct Check {
  std::string part, name;
  std::function<Outcome(const Place&)> run;
};

std::vector<Check> map_checks();
std::vector<Check> scalar_checks();
std::vector<Check> product_checks();
std::vector<Check> matrix_checks();
std::vector<Check> sync_checks();
std::vector<Check> example_checks();
std::vector<Check> forward_checks();
std::vector<Check> route_checks();
std::vector<Check> experts_checks();

}  // namespace flashfit::hardware
