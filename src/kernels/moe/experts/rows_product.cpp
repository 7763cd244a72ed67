#include "kernels/moe/experts/rows_product.hpp"

#include "kernels/moe/experts/token_rows.hpp"
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

const ExpertsProductConfig& config_of(const Image& product) {
  return experts_product_variant_of(*product.variant).config;
}

int tiles_along(const ExpertsProductConfig& c, const RowsProduct& p) {
  return static_cast<int>(columns_of(c, p.outputs, false));
}

bool adds_up(const RowsProduct& p) { return p.sums && p.tokens > 0; }

}  // namespace

/// All that lies before h and y.
int64 rows_product_workspace(const RowsProduct& p) { return p.rows == 0 ? 0 : experts_workspace(layer_of(p)).h; }

int phase_columns_for(const ExpertsProductConfig& c, const RowsProduct& p) {
  const bool beside = adds_up_beside(p.rows, p.outputs, p.dtype, p.experts);
  return phase_columns_of(c, p, beside ? phase_columns_for(p.depth, tiles_along(c, p)) : 0);
}

int phase_columns_of(const ExpertsProductConfig& c, const RowsProduct& p, int wanted) {
  const bool phases = experts_sums(c) && adds_up(p) && p.rows > 0 && p.top_k <= 32;
  return phases ? phase_columns_of(wanted, tiles_along(c, p)) : 0;
}

Result<ExpertsPlan> plan_rows_product(const RowsProduct& p, const Gpu& gpu, CudaVersion driver,
                                      std::span<const Image> images, const PlanOptions& options) {
  auto plan = plan_experts(layer_of(p), gpu, driver, images, options);
  if (!plan) return plan;
  plan->phase_columns = phase_columns_for(config_of(*plan->product), p);
  plan->steps = rows_product_steps(*plan->rows, *plan->product, p, gpu.sms, plan->phase_columns);
  return plan;
}

Steps rows_product_steps(const Image& rows, const Image& product, const RowsProduct& p, std::int64_t resident,
                         int phase_columns) {
  Steps steps;
  phase_columns = phase_columns_of(config_of(product), p, phase_columns);
  if (p.rows > 0) {
    const Steps layer = experts_steps(rows, product, layer_of(p), resident, 0);  // tiles, two products, the sum
    steps.add(layer[0]);
    steps.add(layer[2]);
  }
  if (adds_up(p)) {
    const std::int64_t each = sum_tokens(phases_of(tiles_along(config_of(product), p), phase_columns));
    steps.add({.image = &rows, .grid = {.x = (p.tokens + each - 1) / each}});
  }
  return steps;
}

Result<void> RowsProductArguments::set(const ExpertsProductConfig& c, const RowsProductCall& call, int phase_columns,
                                       EncodeTensorMap encode) {
  const RowsProduct& p = call.problem;
  const ExpertsProblem layer = layer_of(p);
  const ExpertsWorkspace at = experts_workspace(layer);
  char* const workspace = static_cast<char*>(call.workspace);
  const auto ints = [&](std::int64_t offset) { return reinterpret_cast<int*>(workspace + offset); };
  const ExpertsPhases phases = phases_of(tiles_along(c, p), phase_columns_of(c, p, phase_columns));
  const ExpertsSumUnits units = units_of(p.tokens, p.top_k, phases, ints(at.summing));
  take_ = {};
  take_.step = ExpertsRowsStep::kTake;
  take_.rows = static_cast<int>(p.rows);
  take_.here.owned = p.experts;
  take_.offsets = call.offsets;
  take_.chunks = static_cast<int>(sort_chunks(layer));
  take_.tile_rows = Divisor(c.tile_rows);
  take_.choices = ints(at.choices);
  take_.places = ints(at.places);
  take_.tiles = reinterpret_cast<ExpertTile*>(workspace + at.tiles);
  take_.tile_count = ints(at.tile_count);
  take_.taken = ints(at.taken);
  take_.summing = ints(at.summing);
  take_.summing_count = phases.count > 1 ? 2 * kMostPhases : 0;
  take_.top_k = 1;

  sum_ = sum_params({.problem = {.dtype = p.dtype, .tokens = p.tokens, .top_k = p.top_k, .columns = p.outputs},
                     .places = call.places,
                     .tokens = call.sums,
                     .tokens_row = call.sums_row,
                     .rows = call.out,
                     .weights = call.weights});
  if (phases.count > 1) sum_.step = ExpertsRowsStep::kSumRest;
  sum_.sorted_before = p.rows > 0;  // places are the caller's, and there before the first step begins
  sum_.phases = phases;
  sum_.units = units;
  sum_.sum_tokens = Divisor(sum_tokens(phases));
  sum_.sums_of_block = sum_tokens(phases) * tiles_along(c, p);

  ExpertsProductParams& product = product_.product;
  product = {};
  product.tiles = take_.tiles;
  product.tile_count = take_.tile_count;
  product.taken = take_.taken;
  product.top_k = Divisor(1);
  product.columns = Divisor(tiles_along(c, p));
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
  product_.gathers = 0;
  product_.phases = phases;
  product_.sums = {.units = units,
                   .places = call.places,
                   .weights = call.weights,
                   .out = call.sums,
                   .out_row = call.sums_row,
                   .top_k = p.top_k};

  const bool wgmma = c.engine == ExpertsEngine::kWgmma;
  count_ = 0;
  if (p.rows > 0) {
    add(&take_);
    add(wgmma ? static_cast<const void*>(&product_) : &product);
  }
  if (adds_up(p)) add(&sum_);
  return wgmma && p.rows > 0 ? encode_maps(product_, c, p.experts, p.rows, encode) : Result<void>();
}

}  // namespace flashfit
