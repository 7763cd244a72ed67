#pragma once
// What a target is judged for. What is not given is not judged, and the report says so.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu/gpu_names.hpp"
#include "doctor/packaging/tags.hpp"

namespace flashfit::doctor {

struct AskedGpu {
  std::string asked;  ///< as the user named it: the key of reports
  NamedGpu gpu;
};
/// "L40 (8.9)"; "8.9" where the capability alone was named.
inline std::string gpu_text(const AskedGpu& gpu) {
  const std::string cc = gpu.gpu.cc.str();
  return gpu.gpu.name.ends_with(cc) ? cc : gpu.gpu.name + " (" + cc + ")";
}

/// The PyTorch that extensions must load under (torch_facts.hpp).
struct TorchFacts;

struct Question {
  std::vector<AskedGpu> gpus;
  bool survey = false;      ///< every capability there is: not all are expected to fit
  CudaVersion driver = 0;   ///< the CUDA version that it supports; 0: unknown
  std::string driver_text;  ///< as given, "" if unknown
  std::optional<Python> python;
  std::optional<Platform> platform;         ///< with glibc's version if that is known
  std::shared_ptr<const TorchFacts> torch;  ///< null: unknown
  int x86_level = 0;                        ///< 3: the processor is x86-64-v3 and no more; 0: unknown
  std::string whose_torch = "yours";        ///< in messages: "yours is 2.9.1", "the list's is 2.9.1"
};

}  // namespace flashfit::doctor
