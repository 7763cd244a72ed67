#include "proof/emulated/experts.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/moe/experts/plan.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/tensor_map.hpp"
#include "proof/emulated/steps.hpp"

namespace flashfit::emulated {
namespace {

/// Bytes that are NaN in every dtype, and as ids and rows are far outside.
constexpr unsigned char kPoison = 0xff;

struct alignas(256) Line {
  unsigned char bytes[256];
};

/// Each part a tensor of its own, so that what leaves it is found; and what a call does not use is none.
void add_workspace(emu::Memory& memory, void* workspace, const ExpertsProblem& p, const ExpertsProductConfig& c) {
  const ExpertsWorkspace at = experts_workspace(p);
  const auto part = [&](const char* name, std::int64_t offset, std::int64_t bytes) {
    memory.writable(name, static_cast<unsigned char*>(workspace) + offset, static_cast<std::size_t>(bytes));
  };
  part("h", at.h, p.rows() * p.intermediate * size_of(p.dtype));
  part("y", at.y, p.rows() * p.hidden * size_of(p.dtype));
  if (!sorts(c, p)) return;
  part("counts", at.counts, sort_chunks(p) * p.owned() * 4);
  part("choices", at.choices, p.rows() * 4);
  part("places", at.places, p.rows() * 4);
  part("tiles", at.tiles, most_tiles(p, c.tile_rows) * static_cast<std::int64_t>(sizeof(ExpertTile)));
  part("tile_count", at.tile_count, 4);
  part("taken", at.taken, 8);
  part("summing", at.summing, 2 * kMostPhases * 4);
}

}  // namespace

const EmulatedKernel& rows_kernel_for(const EmulatedKernel& product, const std::vector<EmulatedKernel>& all) {
  const DType dtype = experts_product_variant_of(product.variant).config.dtype;
  const auto found = std::ranges::find(
      all, dtype, [](const EmulatedKernel& k) { return experts_rows_variant_of(k.variant).config.dtype; });
  if (found == all.end()) throw std::logic_error(product.variant.name + ": no kernel sorts for its dtype");
  return *found;
}

Result<emu::Stats> run(const EmulatedKernel& rows, const EmulatedKernel& product, reference::ExpertsData& data,
                       const emu::Options& options, int phase_columns, const std::function<void(ExpertsCall&)>& adjust,
                       const std::function<void(const ExpertsCall&)>& after, const std::optional<StepsBefore>& before) {
  ExpertsCall call = data.call();
  if (adjust) adjust(call);
  const ExpertsProblem& p = call.problem;
  const ExpertsProductConfig& config = experts_product_variant_of(product.variant).config;
  std::vector<Line> workspace(static_cast<std::size_t>(workspace_bytes(p) / static_cast<std::int64_t>(sizeof(Line))));
  std::fill_n(reinterpret_cast<unsigned char*>(workspace.data()), workspace.size() * sizeof(Line), kPoison);
  call.workspace = workspace.data();

  emu::Memory memory;
  memory.read_only("x", call.x, data.x.size_in_bytes());
  memory.read_only("w13", call.w13, data.w13.size_in_bytes());
  memory.read_only("w2", call.w2, data.w2.size_in_bytes());
  if (call.b13 != nullptr) memory.read_only("b13", call.b13, data.b13.size_in_bytes());
  if (call.b2 != nullptr) memory.read_only("b2", call.b2, data.b2.size_in_bytes());
  const auto words = [&](const char* name, const void* base, std::int64_t count) {
    if (base != nullptr) memory.read_only(name, base, static_cast<std::size_t>(count) * 4);
  };
  if (before) {
    memory.writable("topk_ids", data.ids.data(), data.ids.size() * sizeof data.ids[0]);
    memory.writable("topk_weights", data.weights.data(), data.weights.size() * sizeof data.weights[0]);
    if (before->add_memory) before->add_memory(memory);
  } else {
    words("topk_ids", call.topk_ids, p.rows());
    words("topk_weights", call.topk_weights, p.rows());
  }
  words("map", call.map, call.mapped);
  words("offsets", call.offsets, p.owned() + 1);
  memory.writable("out", call.out, data.out.size_in_bytes());
  if (call.z != nullptr) memory.writable("z", call.z, data.z.size_in_bytes());
  if (p.rows() > 0) add_workspace(memory, call.workspace, p, config);

  const Image rows_image = image_of(rows), product_image = image_of(product);
  ExpertsArguments arguments;
  if (auto ok = arguments.set(config, call, phase_columns, emu::encode_tensor_map); !ok)
    return tl::unexpected(ok.error());
  Steps steps = experts_steps(rows_image, product_image, p, kResidentBlocks, phase_columns);
  std::vector<const void*> all(arguments.all().begin(), arguments.all().end());
  std::vector<EmulatedKernel> kernels{rows, product};
  if (before) {
    const Steps own = std::exchange(steps, before->steps);
    steps.add(own);
    all.insert(all.begin(), before->arguments.begin(), before->arguments.end());
    kernels.push_back(*before->kernel);
  }
  auto ran = run_steps(steps.all(), all, kernels, memory, options);
  if (ran && after) after(call);
  return ran;
}

}  // namespace flashfit::emulated
