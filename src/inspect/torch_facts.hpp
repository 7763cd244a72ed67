#pragma once
// The PyTorch that extensions must load under, as far as it is known.
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "base/error.hpp"
#include "inspect/version.hpp"

namespace flashfit::inspect {

struct TorchFacts {
  std::string given;                          ///< what the user named: "2.6.0+cu124", a wheel, a folder
  std::optional<Version> version;             ///< with the local part: "2.6.0+cu124"
  std::optional<bool> cxx11_abi;              ///< the C++ ABI of its libraries
  std::unordered_set<std::string> exports;    ///< mangled symbols of libc10, libtorch*; empty: a version alone is known
  std::unordered_set<std::string> libraries;  ///< names of the libraries in it: "libc10.so"
};

/// CUDA's major version by the local version: "2.9.0+cu130" -> 13; 0: not said, or none.
int cuda_major(const TorchFacts& torch);

/// A version ("2.6.0+cu124"), a wheel of torch, or a folder that has torch (site-packages, or torch itself). Error: the
/// value and what is accepted.
Result<std::shared_ptr<const TorchFacts>> read_torch(const std::string& given);

}  // namespace flashfit::inspect
