#pragma once
// Python's stable ABI: what a module tagged abi3 may ask of the interpreter (docs.python.org, "C API and ABI
// Stability").
#include <optional>
#include <string_view>
#include <vector>

namespace flashfit::doctor {

/// Functions and data that came with Python 3.`minor`; names are separated by spaces.
struct StableAbiNames {
  int minor = 0;
  std::string_view names;
};
/// Source: CPython's Misc/stable_abi.toml (stable_abi_names.cpp says which).
const std::vector<StableAbiNames>& stable_abi_names();

/// The minor version of Python 3 from which on the stable ABI has this name; nothing if none does. A name may have
/// existed before, unpromised.
std::optional<int> stable_abi_since(std::string_view name);

}  // namespace flashfit::doctor
