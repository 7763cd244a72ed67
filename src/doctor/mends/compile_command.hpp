#pragma once
// The command that compiles a package's source here, as its makers say that it is compiled.
#include <set>
#include <string>
#include <string_view>

#include "core/gpu/target.hpp"

namespace flashfit::doctor {

struct SourceToCompile {
  std::string name;           ///< normalised: "flash-attn"
  std::string version;        ///< without a label of its build: "2.8.3"; "" for the newest
  std::string origin;         ///< where pip can have it, such as "git+https://..."; "" if it came from an index
  bool is_installed = false;  ///< it takes the place of what is installed; what it depends on is there
  bool uses_torch = true;     ///< it is compiled against the PyTorch that is installed
};

/// Whether it is known where the source of a package is that came from no index.
bool knows_source_of(std::string_view package);

/// The command for a shell, with code for these GPUs; none are left to the package's own choice. "" if its build has no
/// code for one of them, or
/// where the index has no source of the package and none is known elsewhere.
std::string compile_command(const SourceToCompile& source, const std::set<ComputeCapability>& gpus);

}  // namespace flashfit::doctor
