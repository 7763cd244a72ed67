#pragma once
// What a text says of the machine that it comes from. It may be another than this one, and another than is asked for.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu/gpu_names.hpp"
#include "doctor/packaging/python.hpp"
#include "doctor/pasted/find_errors.hpp"
#include "doctor/pasted/traceback.hpp"

namespace flashfit::doctor::pasted {

struct NamedInText {
  std::optional<NamedGpu> gpu;           ///< nothing if it names none, or several
  std::optional<doctor::Python> python;  ///< by the paths of its files
  std::string driver;                    ///< "535.54.03", or CUDA's version "12.2"; "" if it is not named
  std::string torch;                     ///< "2.9.1+cu128", "2.9.1"; "" if it names none, or several
  /// Versions of packages that are built for one PyTorch (knowledge_data().companions), by their names; without those
  /// of which the text names several.
  std::map<std::string, std::string> versions;
  std::vector<int> llama_capabilities;     ///< what llama.cpp says that it was compiled for: 75, 120
  std::vector<std::string> site_packages;  ///< folders of packages, as the text has them
  std::vector<std::string> packages;       ///< that its frames lie in, the innermost first
  bool windows = false;                    ///< its paths are Windows' ("C:\\venv"), and none is another system's
};

NamedInText named_in(const PastedText& text, const std::vector<Traceback>& tracebacks,
                     const std::vector<Finding>& findings);

}  // namespace flashfit::doctor::pasted
