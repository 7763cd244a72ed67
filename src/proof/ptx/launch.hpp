#pragma once
// Runs decoded PTX on the CPU.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "proof/emu/index3.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/options.hpp"
#include "proof/ptx/program.hpp"

namespace flashfit::ptx {

struct Shape {
  emu::Index3 grid, threads;       ///< blocks, and threads of a block
  std::size_t dynamic_shared = 0;  ///< bytes beside what the entry has of its own
  int cluster = 0;                 ///< blocks of a cluster, along x; 0: what the entry says, or 1
  /// Instructions after which a block is taken to run for ever: half an hour of the slowest GPU's clock.
  std::uint64_t most_steps = std::uint64_t{1} << 32;
};

/// What no GPU would launch, and why in words.
struct ShapeError {
  enum class Part : unsigned char { kGrid, kThreads, kCluster, kShared } part;
  std::string words;  ///< "blocks of 2048 x 1 x 1 threads: 1 to 1024"
};

/// What is wrong with the shape; nothing if a GPU that gives a block `shared_limit` bytes of shared memory takes it.
std::optional<ShapeError> wrong_shape(const Program& program, const Shape& shape, std::size_t shared_limit);

/// Runs every block of the grid. `params`: the arguments as the entry lays them out. `memory` names what it may touch,
/// all of which must outlive the call. kInvalidArgument: a launch that the entry does not take; kInternal: a finding,
/// one line as emu::launch()'s.
Result<emu::Stats> launch(const Program& program, const Shape& shape, std::span<const std::byte> params,
                          const emu::Memory& memory, const emu::Options& options = {});

}  // namespace flashfit::ptx
