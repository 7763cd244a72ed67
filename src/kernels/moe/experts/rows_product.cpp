#include "kernels/moe/experts/rows_product.hpp"

#include "kernels/moe/experts/workspace.hpp"

namespace flashfit {
namespace {

/// The layer whose second product it is. Its first one, without a gate, would be as large: a plan for both suits one.
ExpertsProblem layer_of(const RowsProduct& p) {
  return {.dtype = p.dtype,
          .tokens = p.rows,
          .experts = p.experts,
          .top_k = 1,
          .hidden = p.outputs,
          .intermediate = p.depth,
          .low = 0,
          .high = p.experts,
          .activation = Activation::kSilu,
          .transposed = p.transposed,
          .sorted = true};
}

}  // namespace

/// All that lies before h and y.
int64 rows_product_workspace(const RowsProduct& p) { return p.rows == 0 ? 0 : experts_workspace(layer_of(p)).h; }

Result<ExpertsPlan> plan_rows_product(const RowsProduct& p, const Gpu& gpu, CudaVersion driver,
                                      std::span<const Image> images, const PlanOptions& options) {
  auto plan = plan_experts(layer_of(p), gpu, driver, images, options);
  if (plan) plan->steps = rows_product_steps(*plan->rows, *plan->product, p, gpu.sms);
  return plan;
}

Steps rows_product_steps(const Image& rows, const Image& product, const RowsProduct& p, std::int64_t resident) {
  Steps steps;
  if (p.rows == 0) return steps;
  const Steps layer =
      experts_steps(rows, product, layer_of(p), resident, ExpertsGather::kNone);  // tiles, two products, the sum
  steps.add(layer.all()[0]);
  steps.add(layer.all()[2]);
  return steps;
}

Result<void> RowsProductArguments::set(const ExpertsProductConfig& c, const RowsProductCall& call,
                                       EncodeTensorMap encode) {
  const RowsProduct& p = call.problem;
  const ExpertsProblem layer = layer_of(p);
  const ExpertsWorkspace at = experts_workspace(layer);
  char* const workspace = static_cast<char*>(call.workspace);
  const auto ints = [&](std::int64_t offset) { return reinterpret_cast<int*>(workspace + offset); };
  take_ = {};
  take_.step = ExpertsRowsStep::kTake;
  take_.rows = static_cast<int>(p.rows);
  take_.owned = p.experts;
  take_.offsets = call.offsets;
  take_.chunks = static_cast<int>(sort_chunks(layer));
  take_.tile_rows = Divisor(c.tile_rows);
  take_.choices = ints(at.choices);
  take_.places = ints(at.places);
  take_.tiles = reinterpret_cast<ExpertTile*>(workspace + at.tiles);
  take_.tile_count = ints(at.tile_count);
  take_.taken = ints(at.taken);
  take_.top_k = 1;

  ExpertsProductParams& product = product_.product;
  product = {};
  product.tiles = take_.tiles;
  product.tile_count = take_.tile_count;
  product.taken = take_.taken;
  product.top_k = Divisor(1);
  product.columns = Divisor(static_cast<int>(columns_of(c, p.outputs, false)));
  product.a = call.a;
  product.a_row = call.a_row;
  product.w = call.w;
  product.w_expert = call.w_expert;
  product.w_row = call.w_row;
  product.bias_step = 1;
  product.out = call.out;
  product.depth = p.depth;
  product.outputs = p.outputs;
  product.transposed = p.transposed;
  product_.copies = {};  // rows lie where they are multiplied
  product_.phases = in_one_phase(product.columns);
  product_.sums = {};

  const bool wgmma = c.engine == ExpertsEngine::kWgmma;
  pointers_ = {&take_, wgmma ? static_cast<const void*>(&product_) : &product};
  return wgmma && p.rows > 0 ? encode_maps(product_, c, p.experts, p.rows, encode) : Result<void>();
}

}  // namespace flashfit
