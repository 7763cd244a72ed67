#pragma once
// What runs where: GPU code against a GPU and a driver, as pure functions. The rules and their sources are in
// docs/doctor.md, "What runs where".
#include <span>
#include <string>

#include "doctor/gpu_code/code_entry.hpp"

namespace flashfit::doctor {

/// The GPU and driver that code is judged for.
struct Machine {
  std::string name;  ///< of the GPU, for messages: "RTX 5090"
  ComputeCapability gpu;
  CudaVersion driver = 0;  ///< the CUDA version that it supports; 0: unknown, which refuses nothing
};

/// How code gets to run; the greater is the better.
enum class Best : unsigned char {
  kNo,
  kPtxJit,  ///< compiled by the driver at the first use
  kSass,    ///< machine code
};
/// "no", "ptx-jit", "sass".
const char* name_of(Best best);

struct Answer {
  Best best = Best::kNo;
  std::string reason;  ///< one line: why not, or what makes it run
};

/// One entry alone.
Answer runs(const CodeEntry& entry, const Machine& machine);

/// The entries of one container, which hold the same kernels: the best of them. Where none runs, the reason lists what
/// there is and what each lacks: "SASS 9.0a, no PTX. RTX 5090 is 12.0; 9.0a runs only on 9.0".
Answer best_of(std::span<const CodeEntry> entries, const Machine& machine);

/// "" if the driver has this GPU, else one line: too old for it, or too new.
std::string driver_misfit(const Machine& machine);

/// Where the entry's target runs, driver aside: "9.0a runs only on 9.0".
std::string reach_of(const CodeEntry& entry);

}  // namespace flashfit::doctor
