// Kernels of tensor copies and matrix instructions give what they must, under every schedule.
#include <gtest/gtest.h>

#include "arch/arch.hpp"
#include "emu/launch.hpp"
#include "emu/tensor_map.hpp"
#include "matrix_cases.hpp"

namespace flashfit::testing {
namespace {

constexpr emu::Schedule kSchedules[] = {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom};

/// Memory as the driver aligns it.
struct Aligned {
  explicit Aligned(const Bytes& from) : bytes(from.size() + 256) {
    const std::size_t off = reinterpret_cast<std::uintptr_t>(bytes.data()) % 256;
    data = bytes.data() + (256 - off);
    std::memcpy(data, from.data(), from.size());
  }
  Bytes bytes;
  std::byte* data;
};

template <class Kernel>
void expect_right(const MatrixCase<Kernel>& c) {
  for (const emu::Schedule schedule : kSchedules) {
    SCOPED_TRACE(c.what + ", " + name_of(schedule));
    std::vector<Aligned> inputs;
    std::vector<const void*> at;
    emu::Memory memory;
    inputs.reserve(c.inputs.size());
    for (const Bytes& input : c.inputs) {
      at.push_back(inputs.emplace_back(input).data);
      memory.read_only("input", at.back(), input.size());
    }
    const Aligned output(c.output);
    memory.writable("output", output.data, c.output.size());
    const auto params = c.params(at, output.data, [](const TensorMapSpec& spec) {
      const auto map = emu::encode_tensor_map(spec);
      EXPECT_TRUE(map) << map.error().message;
      return map.value_or(TensorMap{});
    });
    const auto ran =
        emu::launch<Kernel>({1, 1, 1}, params, memory, {.kernel = c.what, .schedule = schedule, .seed = 5});
    ASSERT_TRUE(ran) << ran.error().message;
    for (std::size_t i = 0; i < c.expected.size(); ++i)
      ASSERT_EQ(output.data[i], c.expected[i]) << "byte " << i << " of " << c.expected.size();
  }
}

TEST(Matrices, GiveWhatTheyMust) {
  for_each_matrix_case([](const auto& c) { expect_right(c); });
}

}  // namespace
}  // namespace flashfit::testing
