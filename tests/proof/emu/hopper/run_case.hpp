#pragma once
// Runs cases of matrix kernels under the emulator.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "kernels/arch/arch.hpp"
#include "matrix_cases.hpp"
#include "proof/emu/launch.hpp"
#include "proof/emu/tensor_map.hpp"

namespace flashfit::testing {

inline constexpr emu::Schedule kSchedules[] = {emu::Schedule::kRoundRobin, emu::Schedule::kReversed,
                                               emu::Schedule::kRandom};

/// A copy of the bytes, aligned as the driver's memory is.
class Aligned {
 public:
  explicit Aligned(const Bytes& from) : bytes_(from.size() + kAlignment) {
    data_ = bytes_.data() + (kAlignment - reinterpret_cast<std::uintptr_t>(bytes_.data()) % kAlignment);
    std::copy(from.begin(), from.end(), data_);
  }
  std::byte* data() const { return data_; }

 private:
  static constexpr std::size_t kAlignment = 256;
  Bytes bytes_;
  std::byte* data_;
};

/// What is wrong with one run of the case, in one line, or "".
template <class Kernel>
std::string defect_of(const MatrixCase<Kernel>& c, emu::Schedule schedule) {
  std::vector<Aligned> inputs;
  std::vector<const void*> at;
  emu::Memory memory;
  inputs.reserve(c.inputs.size());
  for (const Bytes& input : c.inputs) {
    at.push_back(inputs.emplace_back(input).data());
    memory.read_only("input", at.back(), input.size());
  }
  const Aligned output(c.output);
  memory.writable("output", output.data(), c.output.size());
  std::string refused;
  const auto params = c.params(at, output.data(), [&](const TensorMapSpec& spec) {
    const auto map = emu::encode_tensor_map(spec);
    if (!map) refused = map.error().message;
    return map.value_or(TensorMap{});
  });
  if (!refused.empty()) return refused;
  const auto ran = emu::launch<Kernel>({emu::cluster_of<Kernel>(), 1, 1}, params, memory,
                                       {.kernel = c.what, .schedule = schedule, .seed = 5});
  if (!ran) return "finding: " + ran.error().message;
  for (std::size_t i = 0; i < c.expected.size(); ++i)
    if (output.data()[i] != c.expected[i])
      return fmt::format("wrong ({}): {}: byte {} of {}", name_of(schedule), c.what, i, c.expected.size());
  return {};
}

}  // namespace flashfit::testing
