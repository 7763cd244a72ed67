#pragma once
// PyTorch's releases, and what its own builds of them for Linux on x86-64 are: the one table of them.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu/target.hpp"
#include "doctor/gpu_code/code_entry.hpp"
#include "doctor/packaging/version.hpp"

namespace flashfit::doctor {

struct TorchRelease {
  std::uint64_t major, minor;
  std::uint64_t last_patch;
  int first_python = 0, last_python = 0;  ///< wheels for CPython 3.first to 3.last; 0: not known
  /// CUDA of its builds, that of the package index first; 0 behind the last. None: not known.
  std::array<CudaVersion, 3> cuda = {};

  /// "2.9.1".
  std::string str() const;
  bool has_build(CudaVersion version) const;
  /// "builds for CUDA 12.6, 12.8, 11.8"; "" where none is known.
  std::string builds() const;
};

/// Oldest first. A release that is not there is noticed by the doctor itself (FF709), and
/// tests/doctor/knowledge/torch_releases_test.py holds the table against the package index and its wheels.
std::span<const TorchRelease> torch_releases();

/// By its first two numbers; null: no such release.
const TorchRelease* torch_release_of(const Version& version);

/// The code in libtorch_cuda of a build, as one container; empty for builds that the table does not have.
std::vector<CodeEntry> code_of_torch(const TorchRelease& release, CudaVersion cuda);
/// The same in words: "7.5 8.0 8.6 9.0 10.0 12.0+PTX".
std::string targets_of_torch(const TorchRelease& release, CudaVersion cuda);

/// The CUDA of a build's label: 12080 of "cu128"; 0: it is none.
CudaVersion cuda_of_label(std::string_view label);
/// "cu128" of 12080.
std::string label_of_cuda(CudaVersion cuda);

/// Why PyTorch has no build of that release with a label such as "cu128", in a few words; "" if it has, or if that is
/// not known: of labels for other things than CUDA, of previews, of releases whose builds are not all known.
std::string no_torch_build(const Version& version, std::string_view label);

/// Why it is none of PyTorch's releases, in a few words; "" if it is one, or may be soon: patches and previews follow
/// the newest.
std::string no_torch_release(const Version& version);

}  // namespace flashfit::doctor
