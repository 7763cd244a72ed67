// Tensor copies, wgmma, ldmatrix, stmatrix and the maps of src/kernels/layout: the kernels of tests/proof/emu/hopper,
// which say to the bit what they must give.
#include <fmt/format.h>

#include "hardware/both.hpp"
#include "matrix_cases.hpp"

namespace flashfit::hardware {
namespace {

lab::Buffer buffer_of(const char* name, const testing::Bytes& values, bool writable) {
  lab::Buffer buffer(name, values.size(), writable);
  std::memcpy(buffer.data(), values.data(), buffer.size());
  return buffer;
}

template <class Kernel>
Outcome run_case(const Place& place, const testing::MatrixCase<Kernel>& c) {
  const std::size_t inputs = c.inputs.size();
  lab::Trial<Kernel> trial{c.expression, {emu::cluster_of<Kernel>()}, {}, [&](const lab::Where& where) {
                             std::vector<const void*> in;
                             for (std::size_t i = 0; i < inputs; ++i) in.push_back(where.as<void>(i));
                             return c.params(in, where.as<void>(inputs),
                                             [&](const TensorMapSpec& spec) { return where.map(spec); });
                           }};
  for (const testing::Bytes& input : c.inputs) trial.buffers.push_back(buffer_of("input", input, false));
  trial.buffers.push_back(buffer_of("output", c.output, true));
  Outcome outcome;
  outcome.kept["kernel"] = c.expression;
  Both<Kernel> both(trial, place, outcome);
  if (!both.ran) return outcome;
  lab::Buffer expected = buffer_of("output", c.expected, false);
  outcome.demand("gpu_and_case", compare("output", both.gpu.buffers[inputs].template as<std::uint32_t>(),
                                         expected.as<std::uint32_t>()));
  outcome.demand("gpu_and_emulator", both.template compare<std::uint32_t>(inputs));
  return outcome;
}

}  // namespace

std::vector<Check> matrix_checks() {
  std::vector<Check> checks;
  testing::for_each_matrix_case([&](const auto& c) {
    checks.push_back({"hopper", c.what, [c](const Place& place) { return run_case(place, c); }});
  });
  return checks;
}

}  // namespace flashfit::hardware
