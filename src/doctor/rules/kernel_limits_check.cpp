#include <algorithm>

#include "core/gpu/limits.hpp"
#include "doctor/binaries/demangle.hpp"
#include "doctor/rules/all_checks.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kKilobyte = 1024;

std::string kilobytes(std::uint64_t bytes) {
  return bytes % kKilobyte == 0 ? fmt::format("{} KB", bytes / kKilobyte)
                                : fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1024);
}

/// Of the kernel's own: from compute capability 9.0 on the driver's 1 KB is counted in.
std::uint64_t own_shared(const KernelFacts& kernel, const CodeEntry& entry) {
  const std::uint64_t reserved = entry.target.architecture >= 90 ? kReservedSharedBytes : 0;
  return kernel.shared - std::min(kernel.shared, reserved);
}

/// Threads that the registers of an SM are enough for, in whole warps. Registers are given to warps by 256.
int threads_by_registers(int registers) {
  constexpr int kWarp = 32, kUnit = 256;
  if (registers <= 0) return kMaxThreadsPerBlock;
  const int of_warp = (registers * kWarp + kUnit - 1) / kUnit * kUnit;
  return kRegistersPerSm / of_warp * kWarp;
}

void judge_shared(const std::string& name, std::uint64_t shared, const Question& question, const std::string& path,
                  std::vector<Problem>& problems) {
  const auto most = static_cast<std::uint64_t>(kStaticSharedBytes);
  if (shared > most) {
    std::string opt_in;
    for (const AskedGpu& gpu : question.gpus) {
      const auto limit = static_cast<std::uint64_t>(max_shared_bytes(gpu.gpu.cc.decimal()));
      if (limit != 0)
        opt_in += fmt::format("; {} lets a block opt in to {} of dynamic memory, {}", gpu.gpu.name, kilobytes(limit),
                              limit >= shared ? "enough" : "too little");
    }
    problems.push_back(
        {"FF501", Severity::kMisfit,
         fmt::format("{}: {} ({:#x} bytes) of static shared memory; every GPU's static limit is {} ({:#x}){}", name,
                     kilobytes(shared), shared, kilobytes(most), most, opt_in),
         path, "a smaller tile, or dynamic shared memory with cudaFuncAttributeMaxDynamicSharedMemorySize"});
    return;
  }
  // Of the many kernels of a wheel that would say no more than the table of GPUs.
  if (shared == 0 && !path.empty()) return;
  for (const AskedGpu& gpu : question.gpus) {
    const auto limit = static_cast<std::uint64_t>(max_shared_bytes(gpu.gpu.cc.decimal()));
    if (shared == 0 && limit != 0)
      problems.push_back(
          {"FF504", Severity::kNote,
           fmt::format("{}: no static shared memory; a launch may take {} of dynamic memory on {}, more than {} by "
                       "opting in",
                       name, kilobytes(limit), gpu.gpu.name, kilobytes(most)),
           path, ""});
    else if (limit > shared)
      problems.push_back(
          {"FF504", Severity::kNote,
           fmt::format("{}: {} of static shared memory leave a launch {} of dynamic memory on {} (opt-in limit {})",
                       name, kilobytes(shared), kilobytes(limit - shared), gpu.gpu.name, kilobytes(limit)),
           path, ""});
  }
}

void judge_threads(const std::string& name, const KernelFacts& kernel, const std::string& path,
                   std::vector<Problem>& problems) {
  const Severity severity = kernel.exact_threads ? Severity::kMisfit : Severity::kDegrades;
  if (kernel.max_threads > kMaxThreadsPerBlock) {
    problems.push_back({"FF503", severity,
                        fmt::format("{}: bounded by {} threads a block; every GPU's limit is {}", name,
                                    kernel.max_threads, kMaxThreadsPerBlock),
                        path, ""});
    return;
  }
  const int most = threads_by_registers(kernel.registers);
  if (kernel.max_threads <= most) return;
  problems.push_back(
      {"FF502", severity,
       fmt::format("{}: {} registers a thread are enough for blocks of {} threads ({} registers an SM), and it is "
                   "declared for {}",
                   name, kernel.registers, most, kRegistersPerSm, kernel.max_threads),
       path, fmt::format("blocks of at most {} threads, or __launch_bounds__({})", most, kernel.max_threads)});
}

}  // namespace

void check_kernel_limits(const Target& target, const Question& question, std::vector<Problem>& problems) {
  for (const Binary& binary : target.binaries) {
    if (binary.containers.empty() || binary.containers.front().entries.empty()) continue;
    const CodeEntry& entry = binary.containers.front().entries.front();
    for (const KernelFacts& kernel : binary.kernels) {
      const std::string name = demangled(kernel.name, 80);
      judge_shared(name, own_shared(kernel, entry), question, binary.path, problems);
      judge_threads(name, kernel, binary.path, problems);
    }
  }
}

}  // namespace flashfit::doctor
