#pragma once
// The command that installs a build of PyTorch.
#include <string>

namespace flashfit::doctor {

/// For a shell: `version` as PyTorch names its builds ("2.8.0", "2.6.0+cu124"), with the `others` beside it, as words
/// of a shell; into the virtual environment at `venv`, else the active environment. pip's index has one build of each
/// release, without a label; where PyTorch's other ones are uv knows by their labels.
std::string torch_install(const std::string& version, const std::string& others = "", const std::string& venv = "");

/// The command that installs a release of a package that is built for one PyTorch ("torchvision", "0.24.1") beside a
/// build of PyTorch with this label ("cu130"; of one that no index of PyTorch's has, pip's own is asked), and leaves
/// PyTorch as it is. `installed`: what it depends on is there.
std::string companion_install(const std::string& package, const std::string& release, const std::string& label,
                              bool installed);

}  // namespace flashfit::doctor
