#pragma once
// Code for some GPUs alone that is not forgotten for the others: the program asks for the GPU before it calls it.
#include <span>

#include "doctor/facts/facts.hpp"
#include "doctor/rules/question.hpp"
#include "doctor/rules/report.hpp"

namespace flashfit::doctor {

/// Whether the package is known to pick among its kernels by the GPU (data/knowledge.json, "chooses_itself").
bool chooses_itself(const Target& target);

/// Code for one GPU or family alone, and for newer GPUs alone, stands beside code for others on purpose: who calls it
/// asks for the GPU first. A build that forgets a GPU forgets it in every container.
bool lacks_on_purpose(const Binary& binary, const Question& question);

/// Of a package that goes on without libraries: what stands against one takes away what it does, and no more; and
/// nothing where it is for other GPUs on purpose.
void soften_on_purpose(const Target& target, const Question& question, std::span<Problem> problems);

/// Whether it is one of NVIDIA's own libraries, in whichever package it lies: they pick kernels by the GPU.
bool is_of_nvidia(const Binary& binary);

}  // namespace flashfit::doctor
