#include "doctor/knowledge/torch_libraries.hpp"

#include <algorithm>
#include <array>

namespace flashfit::doctor {
namespace {

// Source: torch/lib of the wheels of 1.8 to 2.15 for CUDA, ROCm, XPU and the CPU.
constexpr auto kBackends =
    std::to_array<std::string_view>({"", "cpu", "cuda", "cuda_cpp", "cuda_cu", "cuda_linalg", "global_deps", "hip",
                                     "nvshmem", "python", "xpu", "xpu_ops_aten", "xpu_ops_sycl"});
constexpr auto kOthers = std::to_array<std::string_view>(
    {"libtorchbind_test", "libaoti_custom_ops", "libbackend_with_compiler", "libjitbackend_test", "libshm"});

/// What is behind "libtorch": "" or "_cpu".
bool is_backend(std::string_view rest) {
  if (!rest.empty() && rest.front() != '_') return false;
  rest.remove_prefix(rest.empty() ? 0 : 1);
  return std::find(kBackends.begin(), kBackends.end(), rest) != kBackends.end();
}

}  // namespace

bool is_torch_library(std::string_view name) {
  constexpr std::string_view kTorch = "libtorch", kC10 = "libc10", kCaffe2 = "libcaffe2";
  const std::string_view stem = name.substr(0, name.find(".so"));
  if (stem == name) return false;
  if (stem.starts_with(kC10)) return is_backend(stem.substr(kC10.size()));
  if (stem.starts_with(kCaffe2)) return true;
  if (std::find(kOthers.begin(), kOthers.end(), stem) != kOthers.end()) return true;
  return stem.starts_with(kTorch) && is_backend(stem.substr(kTorch.size()));
}

}  // namespace flashfit::doctor
