#include "proof/ptx/launch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "proof/emu/grid.hpp"
#include "proof/ptx/block.hpp"

namespace flashfit::ptx {
namespace {

Result<void> check(const Program& p, const Shape& shape, std::size_t shared, std::span<const std::byte> params,
                   const emu::Options& options) {
  const emu::Index3 &grid = shape.grid, &threads = shape.threads;
  if (grid.x < 0 || grid.y < 0 || grid.z < 0 || grid.y > 65535 || grid.z > 65535)
    return fail(Code::kInvalidArgument, fmt::format("{}: a grid of {} x {} x {} blocks: y and z are at most 65535",
                                                    options.kernel, grid.x, grid.y, grid.z));
  const int most = p.max_threads != 0 ? std::min(p.max_threads, emu::Machine::kMaxThreads) : emu::Machine::kMaxThreads;
  if (threads.x < 1 || threads.y < 1 || threads.z < 1 || threads.x > most || threads.y > most || threads.z > most ||
      std::int64_t{threads.x} * threads.y * threads.z > most)
    return fail(Code::kInvalidArgument, fmt::format("{}: blocks of {} x {} x {} threads: 1 to {}", options.kernel,
                                                    threads.x, threads.y, threads.z, most));
  if (shape.cluster < 0 || shape.cluster > emu::Machine::kMaxCluster)
    return fail(Code::kInvalidArgument, fmt::format("{}: clusters of {} blocks: 1 to {}", options.kernel, shape.cluster,
                                                    emu::Machine::kMaxCluster));
  if (params.size() != p.param_bytes)
    return fail(Code::kInvalidArgument, fmt::format("{}: {} bytes of arguments: the entry takes {}", options.kernel,
                                                    params.size(), p.param_bytes));
  if (shared > options.shared_limit)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {} bytes of shared memory, more than the {} that the GPU gives a block",
                            options.kernel, shared, options.shared_limit));
  return {};
}

}  // namespace

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
  const std::size_t dynamic_shared = std::min(shape.dynamic_shared, options.shared_limit + 1);  // check() says so
  const std::size_t shared = program.static_shared + dynamic_shared;
  if (Result<void> checked = check(program, shape, shared, params, options); !checked)
    return tl::unexpected(checked.error());
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
                             .shared_bytes = shared,
                             .cluster = shape.cluster != 0 ? shape.cluster : program.cluster,
                             .min_blocks = program.min_blocks,
                             .by_warp = true};
  return emu::run_grid(machine, shape.grid, all, options);
}

}  // namespace flashfit::ptx
