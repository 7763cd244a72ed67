#pragma once
// Libraries that a target asks for and that neither it, its requirements, PyTorch nor the system bring.
#include "doctor/facts/facts.hpp"
#include "doctor/knowledge/cuda_libraries.hpp"
#include "doctor/rules/question.hpp"

namespace flashfit::doctor {

struct LibraryNeed {
  std::string library;                   ///< as DT_NEEDED has it
  std::size_t binary = 0;                ///< the first that asks for it
  const CudaLibrary* package = nullptr;  ///< what brings it; null: unknown
};

/// Each library once, in the order of the binaries.
std::vector<LibraryNeed> library_needs(const Target& target, const Question& question);

}  // namespace flashfit::doctor
