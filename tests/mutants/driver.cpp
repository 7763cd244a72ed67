// Runs the kernels that it is linked with through the emulated tests' cases.
// Exit 0: all right; 1: the first defect found, in one line.
#include <cmath>
#include <cstdio>

#include "emulated.hpp"

namespace flashfit::testing {
namespace {

using Make = ForwardData (*)(const ForwardCase&);

std::string defect_on(const EmulatedForward& kernel, const ForwardCase& spec, Make make = make_data) {
  ForwardData data = make(spec);
  const Expected expected = expect(data);
  for (const emu::Options& options : schedules()) {
    data = make(spec);
    const auto ran = run(kernel, data, options);
    if (!ran) return "finding: " + ran.error().message;
    if (!ran->worst_bank_conflicts.empty()) return "bank conflicts: " + ran->worst_bank_conflicts;
    if (const Verdict verdict = check(data, expected); !verdict.ok)
      return std::string("wrong (") + name_of(options.schedule) + "): " + verdict.message;
  }
  return {};
}

/// What no reference can say: nothing outside is touched, whatever the offsets are; no LSE where none is wanted.
std::string defect_on_hostile(const EmulatedForward& kernel, ForwardCase spec) {
  spec.variable_length = true;
  spec.seqlens_q = spec.seqlens_k = {90, 60};
  ForwardData data = make_data(spec);
  data.cu_seqlens_q = {0, 100, 170};
  data.cu_seqlens_k = {-5, 300, 400};
  const auto ran = run(kernel, data, {}, [](ForwardParams& p) { p.lse = nullptr; });
  return ran ? "" : "finding: " + ran.error().message;
}

std::string first_defect() {
  for (const EmulatedForward& kernel : emulated_forwards()) {
    const ForwardConfig& c = kernel.variant->config;
    const auto cases = forward_cases(c.dtype, c.head_dim, Size::kSmall);
    for (const ForwardCase& spec : cases)
      if (std::string defect = defect_on(kernel, spec); !defect.empty()) return defect;
    const ForwardCase& last = cases.back();
    if (std::string defect = defect_on(kernel, last, make_data_of_mixed_layouts); !defect.empty()) return defect;
    if (std::string defect = defect_on_hostile(kernel, cases.front()); !defect.empty()) return defect;
    if (std::string defect = containment_defect(kernel, {}); !defect.empty()) return "containment: " + defect;
  }
  return {};
}

}  // namespace
}  // namespace flashfit::testing

int main() {
  const std::string defect = flashfit::testing::first_defect();
  std::puts(defect.empty() ? "no defect" : defect.c_str());
  return defect.empty() ? 0 : 1;
}
