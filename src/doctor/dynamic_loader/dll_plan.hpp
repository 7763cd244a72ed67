#pragma once
// Which DLLs a Windows extension module or DLL would load, as a plan (load_plan.hpp) with `windows` set.
#include <string>
#include <vector>

#include "doctor/dynamic_loader/load_plan.hpp"

namespace flashfit::doctor::dynamic_loader {

struct DllView {
  /// In the order of the search: the program's own folder (python.exe's), then those of os.add_dll_directory(): what
  /// packages add at import, such as torch/lib and nvidia/*/bin. PATH is not searched for extension modules of Python
  /// 3.8 and later.
  std::vector<std::string> folders;
  std::vector<std::string> loaded;  ///< paths of DLLs that are in the process already
};

/// Loads each file and what it imports, breadth first. A name that is in the process already, whatever its folder, is
/// answered by that; then come the folder of the file that was opened, the view's folders, and Windows itself, whose
/// DLLs are no requests. Delayed imports are left out: they are loaded at the first call, if ever. Names have no case.
LoadPlan plan_dlls(const FileTree& tree, const DllView& view, const std::vector<std::string>& files);

}  // namespace flashfit::doctor::dynamic_loader
