#include "doctor/rules/checks.hpp"

#include "doctor/rules/all_checks.hpp"

namespace flashfit::doctor {
namespace {

constexpr Check kChecks[] = {
    check_reading,        check_wheel_tags, check_label,           check_gpu_code,    check_bundled_ptxas,
    check_driver,         check_machine,    check_c_library,       check_cxx_library, check_executable_stack,
    check_processor,      check_libraries,  check_vendored_driver, check_mislabelled, check_python_abi,
    check_python_modules, check_torch,      check_kernel_limits,
};

}  // namespace

std::span<const Check> checks() { return kChecks; }

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kDegraded:
      return "degraded";
    case Verdict::kUnknown:
      return "unknown";
    case Verdict::kHost:
      return "host";
    case Verdict::kMisfit:
      return "misfit";
  }
  return "unknown";
}

Verdict verdict_of(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return Verdict::kFits;
    case Severity::kDegrades:
      return Verdict::kDegraded;
    case Severity::kUnknown:
      return Verdict::kUnknown;
    case Severity::kHost:
      return Verdict::kHost;
    case Severity::kMisfit:
      return Verdict::kMisfit;
  }
  return Verdict::kUnknown;
}

}  // namespace flashfit::doctor
