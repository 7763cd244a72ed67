#pragma once
// What a wheel's name says of the CUDA, PyTorch and C++ ABI that it was built for. No specification has a place for
// this, so every project writes it in its own way, mostly into the local version.
#include <optional>
#include <string>
#include <string_view>

#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {

struct BuildLabel {
  struct Number {
    int major = 0, minor = -1;  ///< minor -1: the major version alone
    bool operator==(const Number&) const = default;
    std::string str() const;
  };
  std::optional<Number> cuda, torch;
  std::optional<bool> cxx11_abi;
  bool cpu = false;               ///< "+cpu"
  std::string other_accelerator;  ///< "rocm", "xpu" or "hip"; "" if none is named
  bool torch_or_newer = false;    ///< "torch2.9.0andhigher"
};

/// Forms that are read, each from public wheels: +cu124torch2.6cxx11abiFALSE and +cu12torch2.7cxx11abiTRUE
/// (flash-attn, mamba-ssm, causal-conv1d); +pt26cu124 (torch-scatter); +cu128torch2.9.0andhigher.post4 (sageattention
/// for Windows); +torch280cu128 (natten); +cu121, +cpu.cxx11.abi, +rocm6.2 (torch); +cuda12.4, +cu12.8; and in the
/// project's name -cu12, -cuda12x, -cuda13. The local version goes before the name.
BuildLabel label_of(const WheelName& wheel);

}  // namespace flashfit::doctor
