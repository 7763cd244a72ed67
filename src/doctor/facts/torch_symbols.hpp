#pragma once
// PyTorch's C++ symbols by their mangled names (Itanium C++ ABI).
#include <cstdint>
#include <string_view>

namespace flashfit::doctor {

/// What a library asks of libtorch.
enum class TorchAbi : std::uint8_t {
  kNone,      ///< nothing
  kStable,    ///< its stable C functions alone, which every PyTorch of a later version has
  kPreCxx11,  ///< C++, with std::string as GCC had it before 5
  kCxx11,     ///< C++, with std::string as GCC has it since 5
  kEither,    ///< C++, but nothing with a std::string in it
};
/// "none", "stable", "pre-cxx11", "cxx11", "either".
const char* name_of(TorchAbi abi);

/// Whether the mangled name is of a function or datum in at, c10, caffe2 or torch.
bool is_torch_symbol(std::string_view mangled);

/// Whether it is of PyTorch's own Python module, in no namespace: "THPVariableClass", or THPVariable_Wrap(), mangled,
/// which every binding that returns a tensor asks for.
bool is_torch_python_symbol(std::string_view name);

/// Whether it is one of libtorch's stable C functions.
bool is_stable_torch_symbol(std::string_view name);

/// Which std::string the mangled name has in it: kPreCxx11, kCxx11, or kEither where it has none.
/// Source: GCC, "Dual ABI" (the new one lies in namespace __cxx11); Itanium C++ ABI 5.1.8: the old one is "Ss".
TorchAbi string_abi_of(std::string_view mangled);

}  // namespace flashfit::doctor
