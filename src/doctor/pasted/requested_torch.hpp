#pragma once
// What is known of a PyTorch that an installer did not find: its Pythons, its builds, and where they are.
#include "doctor/pasted/evidence.hpp"

namespace flashfit::doctor::pasted {

/// Of the fields "requirement" ("torch==1.11.0+cu113") and "versions" ("1.12.0, 1.12.1", those that the installer could
/// take); nothing of another package.
Remarks requested_torch(const Diagnosis& diagnosis, const doctor::Question& question);

}  // namespace flashfit::doctor::pasted
