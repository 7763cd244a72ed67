// The experts' product over wgmma in fp16, compiled from a copy of the sources with one defect, on a sample of its
// cases, each under one schedule: of two warpgroups, in the form that takes transposed weights and keeps z, which has
// all that their others have; with FLASHFIT_THREE of three, in both layouts. Exit 0: all right; 1: the first defect
// found, in one line.
#include <cstdio>
#include <string>

#include "kernels/moe/experts/cases.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts_kernels.cuh"

namespace flashfit::testing {
namespace {

#ifdef FLASHFIT_THREE
constexpr int kFirst = 12, kOther = 14;  // of kExpertsProductVariants
static_assert(kExpertsProductVariants[kFirst].config.column_warps == 12 &&
              kExpertsProductVariants[kOther].config.column_warps == 12 &&
              kExpertsProductVariants[kFirst].config.transposed != kExpertsProductVariants[kOther].config.transposed);
#else
constexpr int kFirst = 10, kOther = kFirst;
static_assert(kExpertsProductVariants[kFirst].config.engine == ExpertsEngine::kWgmma &&
              kExpertsProductVariants[kFirst].config.transposed && kExpertsProductVariants[kFirst].config.keeps);
#endif

/// Blocks run one after another here, so that the last one finds all phases complete, and takes what units are left.
std::string not_taken(const ExpertsProductConfig& c, const ExpertsCall& call, int phase_columns) {
  if (phase_columns == 0) return {};
  const auto* const taken =
      reinterpret_cast<const int*>(static_cast<const char*>(call.workspace) + experts_workspace(call.problem).summing);
  const auto columns = columns_of(c, call.problem.hidden, false);
  for (int phase = 0; (phase + 1) * phase_columns < columns; ++phase)
    if (taken[phase] * (32 / call.problem.top_k) < call.problem.tokens)
      return "phase " + std::to_string(phase) + ": units are left";
  return {};
}

template <int Variant>
std::string first_defect_of() {
  constexpr const ExpertsProductVariant& kVariant = kExpertsProductVariants[Variant];
  const emulated::EmulatedKernel rows =
      emulated::emulated_experts_rows_kernel<kExpertsRowsVariants[0].config>(kExpertsRowsVariants[0]);
  const emulated::EmulatedKernel product = emulated::emulated_experts_product<kVariant.config>(kVariant);
  const auto all = cases_for(kVariant.config);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool edges = i + 8 >= all.size();  // the last ones are for tiles' edges
    if (i % 5 != 0 && !edges) continue;
    for (const bool again : {false, true}) {
      // Phases of one tile of outputs, or of units of two widths.
      const int columns = !again && all[i].problem.hidden > 4 * kPhaseColumns ? 3 : 1;
      reference::ExpertsData data = reference::make_data(all[i]);
      std::string untaken;
      const auto look = [&](const ExpertsCall& call) {
        untaken = not_taken(kVariant.config, call, phase_columns_of(kVariant.config, call.problem, columns));
      };
      const emu::Options options = schedules()[again ? 2 : i / 5 % 3];
      if (const auto ran = emulated::run(rows, product, data, options, columns, {}, look); !ran)
        return "finding: " + ran.error().message;
      if (!untaken.empty()) return "wrong " + untaken;
      if (std::string defect = reference::defect_of(data); !defect.empty()) return "wrong " + defect;
      if (!edges) break;
    }
  }
  return {};
}

std::string first_defect() {
  std::string defect = first_defect_of<kFirst>();
  if constexpr (kOther != kFirst)
    if (defect.empty()) defect = first_defect_of<kOther>();
  return defect;
}

}  // namespace
}  // namespace flashfit::testing

int main() {
  const std::string defect = flashfit::testing::first_defect();
  std::puts(defect.empty() ? "no defect" : defect.c_str());
  return defect.empty() ? 0 : 1;
}
