#pragma once
// Which build of PyTorch would fit, for Linux on x86-64: src/doctor/knowledge/torch_releases.cpp has what there is.
#include <optional>
#include <string>

#include "doctor/rules/question.hpp"

namespace flashfit::doctor::environment {

struct TorchBuild {
  std::string version;  ///< as pip is asked for it: "2.9.1+cu126"
  std::string index;    ///< of PyTorch's own: "cu126"
};

/// The build nearest to `version` ("2.9.0+cu130") that serves every GPU of the question under its driver and its
/// Python: of the same minor version if there is one, else the newest before it, else the oldest behind it; of those
/// with the newest CUDA that the driver knows, else the newest. Nothing if none does, or for another system than Linux
/// on x86-64.
std::optional<TorchBuild> torch_build_for(const std::string& version, const doctor::Question& question);

}  // namespace flashfit::doctor::environment
