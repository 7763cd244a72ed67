#pragma once
// What all blocks of a launch of PTX share.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "proof/emu/index3.hpp"
#include "proof/emu/machine.hpp"
#include "proof/ptx/program.hpp"

namespace flashfit::ptx {

class Block;
struct LaunchState;

/// The kernel's arguments, as engines read tensor maps in them; and the way back from there to their launch.
struct Arguments {
  alignas(64) std::array<std::byte, Program::kMostParamBytes> bytes;
  LaunchState* launch;
};

struct LaunchState {
  LaunchState(const Program& of, emu::Index3 block_size, const emu::Options& how, std::uint64_t most);
  ~LaunchState();
  LaunchState(const LaunchState&) = delete;
  LaunchState& operator=(const LaunchState&) = delete;

  /// The block whose warp runs now. Blocks of a host thread's machine are made once and run one after another.
  Block& running_block();

  const Program& program;
  const emu::Index3 threads;
  const emu::Options& options;
  const std::uint64_t most_steps;
  Arguments arguments;

 private:
  std::mutex mutex_;
  std::map<std::pair<const emu::Machine*, int>, std::unique_ptr<Block>> blocks_;
};

}  // namespace flashfit::ptx
