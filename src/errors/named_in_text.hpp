#pragma once
// What a text says of the machine that it comes from. It may be another than this one, and another than is asked for.
#include <optional>
#include <string>
#include <vector>

#include "errors/find_errors.hpp"
#include "errors/traceback.hpp"
#include "inspect/gpu_names.hpp"
#include "inspect/python.hpp"

namespace flashfit::errors {

struct NamedInText {
  std::optional<inspect::NamedGpu> gpu;    ///< nothing if it names none, or several
  std::optional<inspect::Python> python;   ///< by the paths of its files
  std::string driver;                      ///< "535.54.03", or CUDA's version "12.2"; "" if it is not named
  std::string torch;                       ///< "2.9.1+cu128"; "" if it is not named
  std::vector<std::string> site_packages;  ///< folders of packages, as the text has them
  std::vector<std::string> packages;       ///< that its frames lie in, the innermost first
};

NamedInText named_in(const PastedText& text, const std::vector<Traceback>& tracebacks,
                     const std::vector<Finding>& findings);

}  // namespace flashfit::errors
