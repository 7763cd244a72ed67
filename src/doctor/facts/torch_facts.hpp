#pragma once
// The PyTorch that extensions must load under, as far as it is known.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/base/error.hpp"
#include "core/gpu/target.hpp"
#include "doctor/bytes/source.hpp"
#include "doctor/packaging/version.hpp"

namespace flashfit::doctor {

struct TorchFacts {
  std::string given;                          ///< what the user named: "2.6.0+cu124", a wheel, a folder
  std::optional<Version> version;             ///< with the local part: "2.6.0+cu124"
  std::optional<bool> cxx11_abi;              ///< the C++ ABI of its libraries
  std::unordered_set<std::string> exports;    ///< mangled symbols of libc10, libtorch*; empty: a version alone is known
  std::unordered_set<std::string> libraries;  ///< names of the libraries in it: "libc10.so"
};

/// CUDA's major version by the local version: "2.9.0+cu130" -> 13; 0: not said, or none.
int cuda_major(const TorchFacts& torch);
/// The CUDA that it was built with, which is the one that extensions are compiled with: by the local version, of a
/// release without one that of the package index. 0: not known, or none.
CudaVersion cuda_of(const TorchFacts& torch);

/// One of PyTorch's own releases by its version, "2.6.0+cu124". Error: the value and what is accepted, as of one that
/// no release has.
Result<std::shared_ptr<const TorchFacts>> read_torch_release(const std::string& given);

/// The C++ ABI that every release of PyTorch MAJOR.MINOR for x86-64 Linux has; nullopt where its builds differ (2.6) or
/// there is no such release. With two numbers, as names of wheels have them.
std::optional<bool> cxx11_abi_of_releases(int major, int minor);

/// An installed PyTorch, wherever its files lie.
struct InstalledTorch {
  std::string given;                   ///< for messages
  std::string version_file;            ///< the text of torch/version.py
  std::vector<std::string> libraries;  ///< names of the files in torch/lib
  std::function<Result<std::unique_ptr<const Source>>(const std::string& library)> open;
  /// The symbols that are asked about: others are left out of TorchFacts::exports, which are some hundred thousand.
  std::unordered_set<std::string> wanted;
};
/// Error: one line, a library and why it cannot be read; or that it has no symbols of PyTorch.
Result<std::shared_ptr<const TorchFacts>> read_installed_torch(const InstalledTorch& installed);

/// A version, a wheel of torch, or a folder that has torch (a virtual environment, site-packages, torch itself). Error:
/// the value and what is accepted.
Result<std::shared_ptr<const TorchFacts>> read_torch(const std::string& given);

}  // namespace flashfit::doctor
