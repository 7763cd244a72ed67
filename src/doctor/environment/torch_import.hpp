#pragma once
// What `import torch` opens, and in which order (torch/__init__.py, _load_global_deps and _preload_cuda_deps).
#include <string>
#include <vector>

#include "doctor/dynamic_loader/process.hpp"

namespace flashfit::doctor::environment {

/// `torch` and `module` as ImportSetting has them, `sites` in sys.path's order. What the installed version preloads,
/// its own text says.
void import_torch(const dynamic_loader::FileTree& tree, const std::string& torch, const std::string& module,
                  const std::vector<std::string>& sites, dynamic_loader::Process& process);

}  // namespace flashfit::doctor::environment
