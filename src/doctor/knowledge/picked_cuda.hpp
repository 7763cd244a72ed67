#pragma once
// Packages that carry a file for each CUDA and load one of them, by PyTorch's (Kind::kPicksByCuda, kPicksNearCuda).
#include <string>
#include <string_view>
#include <vector>

#include "doctor/knowledge/package_rows.hpp"

namespace flashfit::doctor {

/// The CUDA of torch's build as file names write it: "130" of "2.9.1+cu130"; "" where the version does not say it.
std::string cuda_digits(const std::string& torch_version);

/// The CUDA that the star of the row's pattern stands for in the path; "" if the path is none of its files.
std::string carried_cuda(const Knowledge& row, std::string_view path);

/// Those of a package's files, in numbers' order: "90", "118", "128".
std::vector<std::string> carried_cudas(const Knowledge& row, const std::vector<std::string>& paths);

/// The one of them that is loaded under torch's CUDA; "" if it is not there.
std::string picked_cuda(const Knowledge& row, const std::vector<std::string>& carried, const std::string& wanted);

/// The newest of the same major version of CUDA, which runs under the same driver and finds the same libraries; "" if
/// there is none.
std::string nearest_cuda(const std::vector<std::string>& carried, const std::string& wanted);

/// The name of the row's file for this CUDA, without its folders.
std::string file_for_cuda(const Knowledge& row, std::string_view cuda);

}  // namespace flashfit::doctor
