#pragma once
// Compilers of GPU code: nvcc, ptxas and NVRTC, of toolkits and of packages that bring one (Triton's ptxas). Which GPUs
// each knows follows from its version (toolkit_gpus.hpp), which its bytes tell; none is run.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/gpu/target.hpp"
#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

enum class GpuCompiler : unsigned char { kNvcc, kPtxas, kNvrtc };
/// "nvcc", "ptxas", "nvrtc".
const char* name_of(GpuCompiler compiler);

/// What a file of this name would be.
std::optional<GpuCompiler> compiler_named(std::string_view path);

/// Looks for the text in which a compiler tells the CUDA that it is of, in a file that is read once from its start.
class CompilerRelease {
 public:
  /// The bytes at `at`, in order; parts may be left out.
  void feed(std::uint64_t at, Bytes chunk);
  /// 12080, by the first such text; 0: none yet.
  CudaVersion version() const { return version_; }

 private:
  CudaVersion version_ = 0;
  std::string carried_;  ///< the end of the last chunk, which a text may begin in
  std::uint64_t end_ = 0;
};

}  // namespace flashfit::doctor
