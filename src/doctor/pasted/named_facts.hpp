#pragma once
// What a text names, joined with what is known: PyTorch's build with the GPU and the driver, and with the packages that
// are built for one PyTorch.
#include <string>
#include <vector>

#include "doctor/pasted/diagnosis.hpp"
#include "doctor/rules/question.hpp"

namespace flashfit::doctor::pasted {

struct NamedFact {
  std::string line;  ///< "torch 2.8.0+cu128 has no code for GTX 1080 Ti (6.1): ..."
  std::string code;  ///< of the problem that a file would have: "FF704"; "" where it fits
  std::string mend;  ///< a command; "" if none is known
};

/// The GPUs and the driver are those of `question`, which has the text's own unless somebody said otherwise. In the
/// order of their weight. None where the text names neither a build of PyTorch nor what llama.cpp was compiled for.
std::vector<NamedFact> named_facts(const Diagnosis& diagnosis, const doctor::Question& question);

}  // namespace flashfit::doctor::pasted
