#include "proof/ptx/launch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "proof/emu/grid.hpp"
#include "proof/ptx/block.hpp"

namespace flashfit::ptx {
namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr int kMostGridYZ = 65535, kMostThreadsZ = 64;

/// Bytes of shared memory of a block; the sum cannot overflow.
std::size_t shared_of(const Program& program, const Shape& shape) {
  return program.static_shared + std::min(shape.dynamic_shared, SIZE_MAX - program.static_shared);
}

int cluster_of(const Program& program, const Shape& shape) {
  return shape.cluster == 0 ? program.cluster : shape.cluster;
}

}  // namespace

std::optional<ShapeError> wrong_shape(const Program& p, const Shape& shape, std::size_t shared_limit) {
  using Part = ShapeError::Part;
  const emu::Index3 &grid = shape.grid, &threads = shape.threads;
  if (grid.x < 0 || grid.y < 0 || grid.z < 0 || grid.y > kMostGridYZ || grid.z > kMostGridYZ)
    return ShapeError{Part::kGrid, fmt::format("a grid of {} x {} x {} blocks: y and z are at most {}", grid.x, grid.y,
                                               grid.z, kMostGridYZ)};
  const int most = p.max_threads != 0 ? std::min(p.max_threads, emu::Machine::kMaxThreads) : emu::Machine::kMaxThreads;
  const bool too_deep = threads.z > kMostThreadsZ;
  if (threads.x < 1 || threads.y < 1 || threads.z < 1 || threads.x > most || threads.y > most || too_deep ||
      std::int64_t{threads.x} * threads.y * threads.z > most)
    return ShapeError{Part::kThreads,
                      fmt::format("blocks of {} x {} x {} threads: 1 to {}{}", threads.x, threads.y, threads.z, most,
                                  too_deep ? fmt::format(", z at most {}", kMostThreadsZ) : "")};
  if (shape.cluster < 0 || shape.cluster > emu::Machine::kMaxCluster)
    return ShapeError{Part::kCluster,
                      fmt::format("clusters of {} blocks: 1 to {}", shape.cluster, emu::Machine::kMaxCluster)};
  if (const int cluster = cluster_of(p, shape); grid.x % cluster != 0)
    return ShapeError{Part::kCluster, fmt::format("clusters of {} blocks, in a grid of {} along x: a multiple of {}",
                                                  cluster, grid.x, cluster)};
  if (const std::size_t shared = shared_of(p, shape); shared > shared_limit)
    return ShapeError{
        Part::kShared,
        fmt::format("{} bytes of shared memory, more than the {} that the GPU gives a block", shared, shared_limit)};
  return std::nullopt;
}

LaunchState::LaunchState(const Program& of, emu::Index3 block_size, const emu::Options& how, std::uint64_t most)
    : program(of), threads(block_size), options(how), most_steps(most) {
  arguments.launch = this;
}
LaunchState::~LaunchState() = default;

Block& LaunchState::running_block() {
  emu::Machine& machine = emu::Machine::current();
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Block>& block = blocks_[{&machine, machine.block_in_cluster()}];
  if (block == nullptr) block = std::make_unique<Block>(*this, machine);
  return *block;
}

Result<emu::Stats> launch(const Program& program, const Shape& shape, std::span<const std::byte> params,
                          const emu::Memory& memory, const emu::Options& options) {
  if (const auto wrong = wrong_shape(program, shape, options.shared_limit))
    return fail(Code::kInvalidArgument, fmt::format("{}: {}", options.kernel, wrong->words));
  if (params.size() != program.param_bytes)
    return fail(Code::kInvalidArgument, fmt::format("{}: {} bytes of arguments: the entry takes {}", options.kernel,
                                                    params.size(), program.param_bytes));
  emu::Memory all = memory;
  for (const Program::Global& g : program.globals)
    g.writable ? all.writable(g.name, reinterpret_cast<void*>(g.base), g.bytes)
               : all.read_only(g.name, reinterpret_cast<const void*>(g.base), g.bytes);
  const auto state = std::make_unique<LaunchState>(program, shape.threads, options, shape.most_steps);
  std::ranges::copy(params, state->arguments.bytes.begin());
  const int threads = shape.threads.x * shape.threads.y * shape.threads.z;
  const emu::Program machine{.run =
                                 [](const void* arguments) {
                                   LaunchState& running = *static_cast<const Arguments*>(arguments)->launch;
                                   running.running_block().run_warp(emu::Machine::current().warp());
                                 },
                             .params = &state->arguments,
                             .params_bytes = params.size(),
                             .threads = (threads + Warp::kLanes - 1) / Warp::kLanes * Warp::kLanes,
                             .shared_bytes = shared_of(program, shape),
                             .cluster = cluster_of(program, shape),
                             .min_blocks = program.min_blocks,
                             .by_warp = true};
  return emu::run_grid(machine, shape.grid, all, options);
}

}  // namespace flashfit::ptx
