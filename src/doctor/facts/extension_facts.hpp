#pragma once
// What a library asks of Python, of PyTorch and of the processor.
#include <string>
#include <vector>

#include "doctor/facts/torch_symbols.hpp"

namespace flashfit::doctor {

struct ExtensionFacts {
  std::vector<std::string> python;  ///< names of the interpreter's that it needs: "PyModule_Create2"
  /// PyTorch's that it needs, mangled, and of its stable C functions; of PyTorch's own libraries none is kept.
  std::vector<std::string> torch;
  std::vector<std::string> torch_defined;  ///< such names that it has for others
  TorchAbi torch_abi = TorchAbi::kNone;
  int x86_level = 0;     ///< 2 is x86-64-v2, by the linker's note; 0: not said
  bool unnamed = false;  ///< no Python file of its wheel names this module (find_unnamed_modules())
};

template <class V>
void visit(V& v, ExtensionFacts& f) {
  v(f.python, f.torch, f.torch_defined, f.torch_abi, f.x86_level, f.unnamed);
}

}  // namespace flashfit::doctor
