#pragma once
// Rows of shared memory that a warp's matrix instruction reads.
#include <cstdint>

#include "proof/emu/collective.hpp"

namespace flashfit::emu {

/// Where each lane's row of 16 bytes is.
using MatrixRows = std::uintptr_t[kLanes];

/// Whether one of the eight 16-bit numbers at `from` is poison.
bool has_poison(std::uintptr_t from);

/// Counts the bank conflicts of one instruction, called `name`, and ends the launch if it reads poison.
void check_rows(const MatrixRows& rows, const char* name);

}  // namespace flashfit::emu
