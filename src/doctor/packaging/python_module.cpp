#include "doctor/packaging/python_module.hpp"

#include <charconv>

namespace flashfit::doctor {

std::optional<PythonModule> parse_python_module(std::string_view path) {
  const bool windows = path.ends_with(".pyd");
  if (!windows && !path.ends_with(".so")) return std::nullopt;
  path.remove_suffix(windows ? 4 : 3);
  PythonModule module;
  const std::size_t folder = path.rfind('/') + 1;  // npos + 1 is 0
  const std::size_t dot = path.find('.', folder);
  module.stem = path.substr(0, dot);
  if (dot == std::string_view::npos) return module;
  std::string_view ending = path.substr(dot + 1);
  if (ending == "abi3") {
    module.stable = true;
    return module;
  }
  const std::string_view prefix = windows ? "cp3" : "cpython-3";
  if (!ending.starts_with(prefix)) return windows ? std::nullopt : std::optional(module);
  ending.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(ending.data(), ending.data() + ending.size(), module.minor);
  if (error != std::errc() || module.minor < 0) return std::nullopt;
  module.free_threaded = end != ending.data() + ending.size() && *end == 't';
  return module;
}

bool imports(const Python& python, const PythonModule& module) {
  if (module.minor >= 0) return module.minor == python.minor && module.free_threaded == python.free_threaded;
  return !module.stable || !python.free_threaded;
}

bool is_named_as_module(std::string_view path) {
  const auto module = parse_python_module(path);
  return module && (module->stable || module->minor >= 0);
}

bool is_named_for_linux_on(std::string_view path, std::string_view machine) {
  return is_named_as_module(path) && path.find("-" + std::string(machine) + "-linux") != std::string_view::npos;
}

std::string module_path_for(std::string_view path, const Python& python) {
  const auto module = parse_python_module(path);
  if (!module || module->minor < 0 || python.implementation != Python::Implementation::kCPython)
    return std::string(path);
  // ".cpython-310-x86_64-linux-gnu.so", ".cp310-win_amd64.pyd": between the tag's word and the next '-'.
  const std::string_view word = path.ends_with(".pyd") ? ".cp" : ".cpython-";
  const std::size_t begin = module->stem.size() + word.size(), end = path.find_first_of("-.", begin);
  return std::string(path.substr(0, begin)) + python.abi_tag().substr(2) + std::string(path.substr(end));
}

}  // namespace flashfit::doctor
