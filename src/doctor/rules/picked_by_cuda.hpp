#pragma once
// Wheels with one library a CUDA version, of which the program loads the one that PyTorch's CUDA names.
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts/facts.hpp"
#include "doctor/knowledge/package_rows.hpp"
#include "doctor/rules/question.hpp"
#include "doctor/rules/report.hpp"

namespace flashfit::doctor {

/// FF707: of the files that a package carries none is for the CUDA that is wanted, that of this version of torch.
Problem none_for_cuda(const Knowledge& row, const std::vector<std::string>& carried, const std::string& wanted,
                      std::string_view torch, std::string_view package);

/// Of a wheel that carries such libraries (data/knowledge.json, "picks_by_cuda" and "picks_near_cuda"): the one that is
/// loaded decides, and what stands against the others is a note. Where no PyTorch is known, one of them that fits is
/// enough. FF707 where there is none for PyTorch's CUDA.
void judge_picked_by_cuda(const Target& target, const Question& question, std::vector<Problem>& problems);

}  // namespace flashfit::doctor
