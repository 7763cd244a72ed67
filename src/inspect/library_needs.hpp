#pragma once
// Libraries that a target asks for and that neither it, its requirements, PyTorch nor the system bring.
#include "inspect/cuda_libraries.hpp"
#include "inspect/facts.hpp"
#include "inspect/question.hpp"

namespace flashfit::inspect {

struct LibraryNeed {
  std::string library;                   ///< as DT_NEEDED has it
  std::size_t binary = 0;                ///< the first that asks for it
  const CudaLibrary* package = nullptr;  ///< what brings it; null: unknown
};

/// Each library once, in the order of the binaries.
std::vector<LibraryNeed> library_needs(const Target& target, const Question& question);

}  // namespace flashfit::inspect
