// What NVRTC makes of the table's kernels, run instruction by instruction: the same bits as the fibres' kernels that
// g++ makes of the same source, where both are compiled without contraction: every variant, each for one of its targets
// in turn; and as shipped, right against fp64: some variants. Each on a few of its cases; emulate_all_ptx.cpp has every
// target.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "executed.hpp"

namespace flashfit::testing {
namespace {

/// A variant and the target that its PTX is made for.
struct Made {
  const EmulatedKernel* kernel;
  int target;
};

void PrintTo(const Made& made, std::ostream* out) { *out << made.kernel->variant.name << " for " << made.target; }

/// Every `each`-th variant for each target: not the same ones, each kind among them.
std::vector<Made> some_variants(std::size_t each) {
  std::vector<Made> all;
  const auto& kernels = emulated_forwards();
  for (std::size_t t = 0; t < std::size(kPtxTargets); ++t)
    for (std::size_t i = 7 * t % each; i < kernels.size(); i += each)
      if (serves(forward_variant_of(kernels[i].variant), kPtxTargets[t])) all.push_back({&kernels[i], kPtxTargets[t]});
  return all;
}

/// Every variant for one of the targets that it may be compiled for, in turn: all targets would take five times as
/// long.
std::vector<Made> each_variant_once() {
  std::vector<Made> all;
  for (const EmulatedKernel& kernel : emulated_forwards()) {
    std::vector<int> targets;
    for (const int target : kPtxTargets)
      if (serves(forward_variant_of(kernel.variant), target)) targets.push_back(target);
    if (!targets.empty()) all.push_back({&kernel, targets[all.size() % targets.size()]});
  }
  return all;
}

std::string name_of_made(const ::testing::TestParamInfo<Made>& info) {
  return fmt::format("{}_for_{}", info.param.kernel->variant.name, info.param.target);
}

/// Some of the cases that the variant serves, others for other targets.
std::vector<ForwardCase> some_cases(const Made& made, std::size_t count) {
  std::vector<ForwardCase> cases = served_cases(forward_variant_of(made.kernel->variant).config), some;
  const std::size_t step = std::max<std::size_t>(cases.size() / count, 1);
  for (std::size_t i = static_cast<std::size_t>(made.target) % step; i < cases.size(); i += step)
    some.push_back(std::move(cases[i]));
  return some;
}

class ForwardPtx : public ::testing::TestWithParam<Made> {
 protected:
  const EmulatedKernel& kernel() const { return *GetParam().kernel; }
};

class EveryForwardPtx : public ForwardPtx {};

TEST_P(EveryForwardPtx, GivesTheBitsOfTheFibres) {
  const auto program = program_of(kernel().variant, {.target = GetParam().target});
  ASSERT_TRUE(program) << program.error().message;
  // Another case and schedule for each target.
  const auto number = static_cast<std::size_t>(GetParam().target);
  for (const ForwardCase& spec : some_cases(GetParam(), 1))
    EXPECT_EQ(bits_defect({kernel(), **program, spec, schedules()[number / 5 % schedules().size()], splits_of(number)}),
              "");
}

TEST_P(ForwardPtx, IsRightAsShipped) {
  const auto program = program_of(kernel().variant, {.target = GetParam().target, .comparable = false});
  ASSERT_TRUE(program) << program.error().message;
  const auto cases = some_cases(GetParam(), 2);
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(
        value_defect({kernel(), **program, cases[i], schedules()[(i + 1) % schedules().size()], splits_of(i + 1)}), "");
}

INSTANTIATE_TEST_SUITE_P(Table, EveryForwardPtx, ::testing::ValuesIn(each_variant_once()), name_of_made);
INSTANTIATE_TEST_SUITE_P(Table, ForwardPtx, ::testing::ValuesIn(some_variants(29)), name_of_made);

}  // namespace
}  // namespace flashfit::testing
