#pragma once
// Which PyTorch a package asks for by its words: Requires-Dist, or what is known of the release.
#include <optional>
#include <string>
#include <string_view>

#include "doctor/facts/facts.hpp"
#include "doctor/rules/question.hpp"

namespace flashfit::doctor {

/// A clause that refuses the question's PyTorch.
struct RefusedTorch {
  std::string text;          ///< the clause as its maker wrote it: "==2.8.0"
  bool known_alone = false;  ///< it stands in no metadata: the release is known to be built for that
  /// It names one minor version, and yours is another: the package was built against that one, and its C++ names and
  /// the classes behind them change between minor versions.
  bool other_build = false;
};

/// Nothing if all clauses take it, or where no version is known.
std::optional<RefusedTorch> refused_torch(const Target& target, const Question& question);

/// The release of a package ("torchvision") that is built for this PyTorch: "0.24.1"; "" where none is known.
std::string release_for(std::string_view package, const TorchFacts& torch);

/// Whether a library of the target uses PyTorch's C++ interface.
bool uses_cxx_of_torch(const Target& target);

}  // namespace flashfit::doctor
