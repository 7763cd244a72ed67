#pragma once
// The libraries of NVIDIA's driver, which no package has: its installer puts them into the system, and the runtime of a
// container hands them to it.
#include <string_view>

namespace flashfit::doctor::dynamic_loader {

inline bool is_of_driver(std::string_view name) {
  for (const std::string_view library : {"libcuda.so.", "libnvidia-ml.so.", "libnvcuvid.so.", "libnvidia-encode.so."})
    if (name.starts_with(library)) return true;
  return false;
}

}  // namespace flashfit::doctor::dynamic_loader
