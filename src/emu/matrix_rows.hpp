#pragma once
// Rows of shared memory that a warp's matrix instruction reads.
#include <cstdint>

#include "emu/collective.hpp"

namespace flashfit::emu {

/// Where each lane's row of 16 bytes is.
using MatrixRows = std::uintptr_t[kLanes];

/// Counts the bank conflicts of one instruction, called `name`, and ends the launch if it reads poison.
void check_rows(const MatrixRows& rows, const char* name);

}  // namespace flashfit::emu
