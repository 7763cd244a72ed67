// What the second product has left of tokens' sums, added up by the launch after it, under the emulator: these outputs
// and no others, with the bits of a launch that adds up all.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/moe/experts/params.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts.hpp"
#include "proof/reference/experts.hpp"
#include "proof/reference/tensors.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel, reference::Grid;

/// Phases of three tiles of outputs and of the rest, which ends within a tile; units of three tokens.
constexpr int kTokens = 13, kTopK = 9, kColumns = 5 * kPhaseColumns + 24, kPhase = 3 * kPhaseColumns;

struct Data {
  std::vector<int> places;
  std::vector<float> weights;
  Grid rows, out;

  explicit Data(DType t) : rows(t, 1, kTokens * kTopK, kColumns), out(t, 1, kTokens, kColumns, 8) {
    reference::Random random(6);
    for (int i = 0; i < kTokens * kTopK; ++i) {
      places.push_back(i % 7 == 4 ? -1 : i);
      weights.push_back(static_cast<float>(random.normal()));
      for (int c = 0; c < kColumns; ++c) rows.set(0, i, c, random.normal());
    }
  }

  /// After so many units have been taken, in blocks of `each` tokens; -1: no phases.
  Result<emu::Stats> run(const EmulatedKernel& kernel, int taken, int each, const emu::Options& options) {
    emu::Memory memory;
    memory.read_only("places", places.data(), places.size() * sizeof(int));
    memory.read_only("weights", weights.data(), weights.size() * sizeof(float));
    memory.read_only("y", rows.data(), rows.size_in_bytes());
    memory.writable("out", out.data(), out.size_in_bytes());
    memory.read_only("taken", &taken, sizeof taken);
    ExpertsRowsParams p{};
    p.step = taken < 0 ? ExpertsRowsStep::kSum : ExpertsRowsStep::kSumRest;
    p.rows = kTokens * kTopK;
    p.places = places.data();
    p.weights = weights.data();
    p.y = rows.data();
    p.out = out.data();
    p.out_row = out.row_stride();
    p.top_k = kTopK;
    p.columns = kColumns;
    if (taken >= 0) {
      p.phases = {.count = 2, .columns = Divisor(3), .last = Divisor(3)};
      p.units = {.tokens = kTokens,
                 .each = Divisor(32 / kTopK),
                 .columns = Divisor(2),
                 .count = 10,
                 .taken = &taken,
                 .stored = nullptr};
      p.sum_tokens = Divisor(each);
      p.sums_of_block = each * 6;
    }
    return kernel.launch({(kTokens + each - 1) / each, 1, 1}, &p, memory, options);
  }
};

TEST(SumRest, AddsUpWhatNoBlockHasTaken) {
  for (const EmulatedKernel& kernel : emulated::emulated_experts_rows()) {
    const DType dtype = experts_rows_variant_of(kernel.variant).config.dtype;
    Data all(dtype);
    ASSERT_TRUE(all.run(kernel, -1, 1, {}));
    for (const int taken : {0, 1, 5, 9, 10, 300})
      for (const int each : {1, 2, 4}) {
        Data rest(dtype);
        const auto ran = rest.run(kernel, taken, each, schedules()[static_cast<std::size_t>(each) % 3]);
        ASSERT_TRUE(ran) << ran.error().message;
        for (int t = 0; t < kTokens; ++t)
          for (int c = 0; c < kColumns; ++c) {
            // A unit has 512 outputs of the phase or the 256 left, of three tokens.
            const bool is_taken = c < kPhase && t / 3 * 2 + c / 512 < taken;
            if (is_taken)
              ASSERT_TRUE(std::isnan(rest.out.get(0, t, c))) << taken << ": " << t << ' ' << c;
            else
              ASSERT_EQ(rest.out.get(0, t, c), all.out.get(0, t, c)) << taken << ": " << t << ' ' << c;
          }
        EXPECT_TRUE(rest.out.poison_intact());
      }
  }
}

}  // namespace
}  // namespace flashfit::testing
