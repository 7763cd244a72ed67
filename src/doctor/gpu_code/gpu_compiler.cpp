#include "doctor/gpu_code/gpu_compiler.hpp"

#include <algorithm>
#include <charconv>

namespace flashfit::doctor {
namespace {

/// "release 12.8," of "Cuda compilation tools, release 12.8, V12.8.93": what nvcc, ptxas and NVRTC have among their
/// texts, beside a format "release %d.%d".
constexpr std::string_view kBanner = "Cuda compilation tools, release ";
constexpr std::size_t kVersion = 8, kWhole = kBanner.size() + kVersion;

CudaVersion version_behind(std::string_view text) {
  int major = 0, minor = 0;
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto first = std::from_chars(begin, end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.' || major < 5 || major > 99) return 0;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  return second.ec != std::errc() || minor < 0 || minor > 9 ? 0 : major * 1000 + minor * 10;
}

CudaVersion version_in(std::string_view text) {
  for (std::size_t found = text.find(kBanner); found != std::string_view::npos; found = text.find(kBanner, found + 1))
    if (const CudaVersion version = version_behind(text.substr(found + kBanner.size(), kVersion)); version != 0)
      return version;
  return 0;
}

}  // namespace

const char* name_of(GpuCompiler compiler) {
  constexpr const char* kNames[] = {"nvcc", "ptxas", "nvrtc"};
  return kNames[static_cast<std::size_t>(compiler)];
}

std::optional<GpuCompiler> compiler_named(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name == "nvcc" || name == "nvcc.exe") return GpuCompiler::kNvcc;
  // Triton packs one for Blackwell beside the other: "ptxas-blackwell".
  if (name == "ptxas" || name == "ptxas.exe" || name == "ptxas-blackwell") return GpuCompiler::kPtxas;
  if (name.starts_with("libnvrtc.so.")) return GpuCompiler::kNvrtc;
  return std::nullopt;
}

void CompilerRelease::feed(std::uint64_t at, Bytes chunk) {
  if (version_ != 0) return;
  if (at != end_) carried_.clear();
  end_ = at + chunk.size();
  const std::string_view text = as_text(chunk);
  // What spans the two chunks, then the chunk itself.
  carried_ += text.substr(0, kWhole);
  version_ = version_in(carried_);
  if (version_ == 0) version_ = version_in(text);
  if (text.size() >= kWhole) carried_ = text.substr(text.size() - kWhole);
  if (carried_.size() > kWhole) carried_.erase(0, carried_.size() - kWhole);
}

}  // namespace flashfit::doctor
