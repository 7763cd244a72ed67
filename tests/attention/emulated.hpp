#pragma once
// The forward kernels of the variant table, on the CPU.
#include <functional>
#include <string>
#include <vector>

#include "attention/config.hpp"
#include "attention/variants.hpp"
#include "base/error.hpp"
#include "emu/options.hpp"
#include "reference/cases.hpp"

namespace flashfit::emu {
class Memory;
}

namespace flashfit::testing {

/// A row of the table and its kernel, run by the emulator on a grid of `blocks`.
struct EmulatedForward {
  const ForwardVariant* variant;
  Result<emu::Stats> (*launch)(int blocks, const ForwardParams& params, const emu::Memory& memory,
                               const emu::Options& options);
};

/// Every row of the table, in its order.
const std::vector<EmulatedForward>& emulated_forwards();

/// Runs the kernel on a case's memory as the library would launch it. `adjust` may change the arguments before.
Result<emu::Stats> run(const EmulatedForward& kernel, ForwardData& data, emu::Options options,
                       const std::function<void(ForwardParams&)>& adjust = {});

/// A dense case whose q, k, v and out have strides of their own each, which none of the case's layouts gives.
ForwardData make_data_of_mixed_layouts(const ForwardCase& spec);

/// Runs a causal case with NaN and infinities among its values: the first output element that is not as it must be, or
/// "". Rows that do not see a value's key are as without it; the others get it in that column alone.
std::string containment_defect(const EmulatedForward& kernel, const emu::Options& options);

/// The three schedules that every case is run under.
std::vector<emu::Options> schedules();

}  // namespace flashfit::testing
