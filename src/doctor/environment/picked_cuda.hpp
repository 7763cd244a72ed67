#pragma once
// Packages that carry a file for each CUDA and load one of them, by PyTorch's (Kind::kPicksByCuda, kPicksNearCuda).
#include <string>
#include <vector>

#include "doctor/environment/knowledge.hpp"
#include "doctor/environment/packages.hpp"

namespace flashfit::doctor::environment {

/// The CUDA of torch's build as file names write it: "130" of "2.9.1+cu130"; "" where the version does not say it.
std::string cuda_digits(const std::string& torch_version);

/// What the star of the row's pattern stands for in the package's files, in numbers' order: "90", "118", "128".
std::vector<std::string> carried_cudas(const Package& package, const Knowledge& row);

/// The one of them that is loaded under torch's CUDA; "" if it is not there.
std::string picked_cuda(const std::vector<std::string>& carried, const std::string& wanted, Knowledge::Kind kind);

}  // namespace flashfit::doctor::environment
