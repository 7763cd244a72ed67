#pragma once
// Which Pythons import a compiled module, by the ending of its name (docs.python.org, "importlib.machinery.
// EXTENSION_SUFFIXES"; PEP 3149).
#include <optional>
#include <string>
#include <string_view>

#include "doctor/packaging/python.hpp"

namespace flashfit::doctor {

struct PythonModule {
  std::string stem;            ///< path without the ending: "pkg/_C"
  bool stable = false;         ///< ".abi3.so"
  int minor = -1;              ///< of CPython 3: ".cpython-310-x86_64-linux-gnu.so", ".cp310-win_amd64.pyd"; -1: any
  bool free_threaded = false;  ///< ".cpython-313t-..."
};

/// Nothing if the name does not end as a module's does.
std::optional<PythonModule> parse_python_module(std::string_view path);

/// Whether that CPython looks for a module under such a name: free-threaded ones have endings of their own, and do not
/// know ".abi3.so" (Python/dynload_shlib.c, under Py_GIL_DISABLED).
bool imports(const Python& python, const PythonModule& module);

/// Whether the name is one that modules alone have: "_C.abi3.so", "_C.cpython-310-x86_64-linux-gnu.so", not "words.so".
bool is_named_as_module(std::string_view path);

/// Whether the name is one of a module for Linux on this machine: "x86_64".
bool is_named_for_linux_on(std::string_view path, std::string_view machine);

/// The path that a module for one CPython has where it is compiled for another:
/// "pkg/_C.cpython-311-x86_64-linux-gnu.so". Other paths stay as they are.
std::string module_path_for(std::string_view path, const Python& python);

}  // namespace flashfit::doctor
