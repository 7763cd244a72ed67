#pragma once
// The command that installs a build of PyTorch.
#include <string>

namespace flashfit::inspect {

/// For a shell: `version` as PyTorch names its builds ("2.8.0", "2.6.0+cu124"), with the `others` beside it, as words
/// of a shell; into the virtual environment at `venv`, else the active environment. pip's index has one build of each
/// release, without a label; where PyTorch's other ones are uv knows by their labels.
std::string torch_install(const std::string& version, const std::string& others = "", const std::string& venv = "");

}  // namespace flashfit::inspect
