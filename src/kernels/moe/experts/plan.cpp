#include "kernels/moe/experts/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace flashfit {
namespace {

bool is_rows(const Image& image) { return image.variant->family == &kExpertsRowsFamily; }
const ExpertsProductConfig& config_of(const Image& image) { return experts_product_variant_of(*image.variant).config; }

bool serves(const Image& image, const ExpertsProblem& p) {
  return is_rows(image) ? experts_rows_variant_of(*image.variant).config.dtype == p.dtype : serves(config_of(image), p);
}

/// Weights of an expert, with outputs that tiles of so many have beyond its own.
double weights_in_tiles(const ExpertsProblem& p, std::int64_t of_tile) {
  const auto padded = [&](std::int64_t outputs) { return (outputs + of_tile - 1) / of_tile * of_tile; };
  return static_cast<double>(p.hidden * padded(p.first_outputs()) + p.intermediate * padded(p.hidden));
}

/// Tiles of the second product's outputs.
int last_columns(const ExpertsProductConfig& c, const ExpertsProblem& p) {
  return static_cast<int>(std::max<std::int64_t>(columns_of(c, p.hidden, false), 1));
}

/// Whether the plan tries the configuration, by what was faster on an H100 (docs/moe-kernels.md, "The product" and
/// "Three warpgroups"). Wide tiles over mma.sync have one block an SM, and are for long products. Three warpgroups are
/// for experts of many rows, if tiles of two would have so many more weights, with those of outputs that do not exist;
/// not where two add up tokens' sums beside the last product, which three do not.
bool suits(const ExpertsProductConfig& c, const ExpertsProblem& p) {
  constexpr int kFewestFeaturesOfWide = 768, kFewestRowsOfAnExpert = 512;
  constexpr double kMore = 1.03;
  if (c.engine == ExpertsEngine::kMma) return c.tile_columns != 256 || p.intermediate >= kFewestFeaturesOfWide;
  if (experts_product_groups(c) == 2) return true;
  const bool two_would_sum = adds_up_beside(p.rows(), p.hidden, p.dtype, p.experts) &&
                             phase_columns_for(p.intermediate, last_columns(c, p)) > 0;
  return !two_would_sum && p.rows() >= std::int64_t{kFewestRowsOfAnExpert} * p.experts &&
         weights_in_tiles(p, 256) >= kMore * weights_in_tiles(p, c.tile_columns);
}

/// Whether the name is of a product of the problem's dtype.
Result<void> check_name(std::string_view name, const ExpertsProblem& p) {
  std::vector<std::string> suitable;
  bool known = false;
  for (const ExpertsProductVariant& v : experts_product_variants()) {
    const std::string own = name_of(v.config);
    known = known || own == name;
    if (serves(v.config, p)) suitable.push_back(own);
  }
  if (std::ranges::find(suitable, name) != suitable.end()) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("variant {} {}; for {}: {}", name,
                          known ? "has another dtype, takes weights that lie otherwise, or keeps otherwise"
                                : "is no variant of the experts' products",
                          describe(p), fmt::join(suitable, ", ")));
}

/// Blocks of the two products.
struct Blocks {
  std::int64_t first, second;
};
Blocks blocks_of(const ExpertsProductConfig& c, const ExpertsProblem& p) {
  const std::int64_t tiles = sorts(c, p) ? most_tiles(p, c.tile_rows) : p.rows();
  return {tiles * columns_of(c, p.intermediate, has_gate(p.activation)), tiles * columns_of(c, p.hidden, false)};
}

/// What no image of any GPU computes.
std::optional<Error> misfit_of_problem(const ExpertsProblem& p) {
  if (p.dtype == DType::kF32)
    return misfit(fmt::format("{}: on a GPU experts are fp16 or bf16; fp32 runs on the CPU", describe(p)));
  if (p.hidden % 8 || p.intermediate % 8)
    return misfit(fmt::format("{}: on a GPU hidden and intermediate are multiples of 8", describe(p)));
  return std::nullopt;
}

std::optional<Error> misfit_of_blocks(const ExpertsProductConfig& c, const ExpertsProblem& p) {
  const Blocks blocks = blocks_of(c, p);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (p.rows() <= kMost && std::max(blocks.first, blocks.second) <= kMost) return std::nullopt;
  return misfit(fmt::format("{}: {} tokens are more tiles than a launch may have blocks", describe(p), p.tokens));
}

}  // namespace

/// Over wgmma how weights lie in memory is part of the instruction. No box of a map has 8 columns of gate, then 8 of
/// up, as three warpgroups want them.
bool serves(const ExpertsProductConfig& c, const ExpertsProblem& p) {
  if (c.dtype != p.dtype || c.keeps != p.keeps) return false;
  if (c.engine == ExpertsEngine::kMma) return true;
  if (c.transposed != p.transposed) return false;
  return experts_runs(c) == 2 || !c.transposed || !has_gate(p.activation) || p.gate_up == GateUp::kInterleaved;
}

int phase_columns_for(const ExpertsProductConfig& c, const ExpertsProblem& p) {
  if (!adds_up_beside(p.rows(), p.hidden, p.dtype, p.experts)) return 0;
  return phase_columns_of(c, p, phase_columns_for(p.intermediate, last_columns(c, p)));
}

int phase_columns_of(const ExpertsProductConfig& c, const ExpertsProblem& p, int wanted) {
  return experts_sums(c) && !p.sorted && p.owned() > 0 ? phase_columns_of(wanted, last_columns(c, p)) : 0;
}

bool sorts(const ExpertsProductConfig& c, const ExpertsProblem& p) {
  return p.sorted || p.tokens != 1 || !experts_finds_choices(c);
}

bool counts(const ExpertsProblem& p) { return !p.sorted && sort_chunks(p) > 1; }

std::int64_t columns_of(const ExpertsProductConfig& c, std::int64_t outputs, bool paired) {
  const int each = paired ? c.tile_columns / 2 : c.tile_columns;
  return (outputs + each - 1) / each;
}

std::string describe(const ExpertsProblem& p) {
  return fmt::format("{} experts, {} of {}, hidden {}, intermediate {}{}", name_of(p.dtype), p.top_k, p.experts,
                     p.hidden, p.intermediate, p.keeps ? ", keeping z" : "");
}

Result<ExpertsPlan> plan_experts(const ExpertsProblem& p, const Gpu& gpu, CudaVersion driver,
                                 std::span<const Image> images, const PlanOptions& options) {
  images = images_of(kExpertsOperation, images);
  if (auto error = misfit_of_driver(gpu, driver)) return tl::unexpected(std::move(*error));
  if (auto error = misfit_of_problem(p)) return tl::unexpected(std::move(*error));
  if (!options.variant.empty())
    if (auto known = check_name(options.variant, p); !known) return tl::unexpected(std::move(known.error()));
  const GpuWithDriver on{gpu, driver, options.ptx_only};
  const auto sorts = [&](const Image& image) { return is_rows(image) && serves(image, p); };
  const auto multiplies = [&](const Image& image) {
    if (is_rows(image) || !serves(image, p)) return false;
    return options.variant.empty() ? suits(config_of(image), p) : image.variant->name == options.variant;
  };
  if (std::ranges::none_of(images, sorts) || std::ranges::none_of(images, multiplies))
    return tl::unexpected(misfit(fmt::format("{}: this build of flashfit carries no image for it ({} of the experts)",
                                             describe(p), images.size())));
  for (const std::function<bool(const Image&)>& of : {std::function<bool(const Image&)>(sorts), {multiplies}})
    if (auto error = misfit_of_loading(describe(p), images, on, of)) return tl::unexpected(std::move(*error));
  ExpertsPlan plan{};
  for_each_best_image(images, on, sorts, [&](const Image& image) { plan.rows = &image; });
  for_each_best_image(images, on, multiplies, [&](const Image& image) {
    const ExpertsTime time = experts_model(config_of(image), p, gpu);
    if (plan.product != nullptr && plan.time.all <= time.all) return;
    plan.product = &image;
    plan.time = time;
  });
  if (auto error = misfit_of_blocks(config_of(*plan.product), p)) return tl::unexpected(std::move(*error));
  plan.phase_columns = phase_columns_for(config_of(*plan.product), p);
  plan.steps = experts_steps(*plan.rows, *plan.product, p, gpu.sms, plan.phase_columns);
  return plan;
}

std::string reason_for(const Result<ExpertsPlan>& plan, const ExpertsProblem& p, const Gpu& gpu) {
  if (!plan) return plan.error().message;
  const ExpertsProductConfig& c = config_of(*plan->product);
  return fmt::format("{} runs on {}; tiles of {} rows by {} outputs, as {} tokens give an expert {:.3g} rows",
                     plan->product->ptx() ? "PTX, compiled by the driver," : "machine code", gpu.cc.str(), c.tile_rows,
                     c.tile_columns, p.tokens, p.experts == 0 ? 0.0 : static_cast<double>(p.rows()) / p.experts);
}

Steps experts_steps(const Image& rows, const Image& product, const ExpertsProblem& p, std::int64_t resident,
                    int phase_columns) {
  Steps steps;
  if (p.rows() == 0) return steps;
  const auto add = [&](const Image& image, Grid grid) { steps.add({.image = &image, .grid = grid}); };
  const std::int64_t chunks = sort_chunks(p);
  const ExpertsProductConfig& c = config_of(product);
  const bool stay = c.engine == ExpertsEngine::kWgmma;
  const auto grid = [&](std::int64_t blocks) { return Grid{.x = stay ? std::min(blocks, resident) : blocks}; };
  const Blocks blocks = blocks_of(c, p);
  if (counts(p)) add(rows, {.x = chunks});
  if (sorts(c, p)) add(rows, {.x = chunks});
  if (p.owned() > 0) {
    add(product, grid(blocks.first));
    add(product, grid(blocks.second));
  }
  if (sorts(c, p)) {
    const std::int64_t each = sum_tokens(phases_of(last_columns(c, p), phase_columns_of(c, p, phase_columns)));
    add(rows, {.x = (p.tokens + each - 1) / each});
  } else {
    add(rows, {.x = (p.hidden + kSumOneColumns - 1) / kSumOneColumns});
  }
  return steps;
}

Result<void> ExpertsArguments::set(const ExpertsPlan& plan, const ExpertsCall& call, EncodeTensorMap encode) {
  return set(config_of(*plan.product), call, plan.phase_columns, encode);
}

Result<void> ExpertsArguments::set(const ExpertsProductConfig& c, const ExpertsCall& call, int phase_columns,
                                   EncodeTensorMap encode) {
  const ExpertsProblem& p = call.problem;
  const ExpertsPhases phases = phases_of(last_columns(c, p), phase_columns_of(c, p, phase_columns));
  const ExpertsWorkspace at = experts_workspace(p);
  char* const workspace = static_cast<char*>(call.workspace);
  const auto ints = [&](std::int64_t offset) { return reinterpret_cast<int*>(workspace + offset); };
  const bool sort = sorts(c, p);
  auto* const tiles = sort ? reinterpret_cast<ExpertTile*>(workspace + at.tiles) : nullptr;
  const bool weighs_input = p.weight_on == WeightOn::kInput, paired = has_gate(p.activation);
  const bool interleaved = p.gate_up == GateUp::kInterleaved;

  count_step_ = {.step = ExpertsRowsStep::kCount,
                 .ids = call.topk_ids,
                 .rows = static_cast<int>(p.rows()),
                 .here = {.low = p.low, .owned = p.owned(), .map = call.map, .mapped = call.mapped},
                 .offsets = call.offsets,
                 .chunks = static_cast<int>(sort_chunks(p)),
                 .tile_rows = Divisor(c.tile_rows),
                 .counts = ints(at.counts),
                 .choices = ints(at.choices),
                 .places = ints(at.places),
                 .tiles = tiles,
                 .tile_count = ints(at.tile_count),
                 .taken = ints(at.taken),
                 .summing = ints(at.summing),
                 .summing_count = phases.count > 1 ? 2 * kMostPhases : 0,
                 .begins = nullptr,
                 .x = nullptr,
                 .x_row = 0,
                 .gathered = nullptr,
                 .weights = weighs_input ? nullptr : call.topk_weights,
                 .y = workspace + at.y,
                 .out = call.out,
                 .out_row = call.out_row,
                 .top_k = p.top_k,
                 .columns = p.hidden,
                 .phases = phases,
                 .units = units_of(p.tokens, p.top_k, phases, ints(at.summing)),
                 .sum_tokens = Divisor(sum_tokens(phases)),
                 .sums_of_block = sum_tokens(phases) * last_columns(c, p)};
  place_step_ = sum_step_ = count_step_;
  place_step_.step = p.sorted ? ExpertsRowsStep::kTake : ExpertsRowsStep::kPlace;
  sum_step_.step = !sort              ? ExpertsRowsStep::kSumOne
                   : phases.count > 1 ? ExpertsRowsStep::kSumRest
                                      : ExpertsRowsStep::kSum;
  sum_step_.sorted_before = p.owned() > 0;

  // Of transposed weights the two outputs of a feature lie a column or a half apart, else a row or a half's rows.
  const std::int64_t apart = interleaved ? 1 : p.intermediate;
  ExpertsProductParams& first = first_.product;
  first = {.tiles = tiles,
           .tile_count = ints(at.tile_count),
           .ids = call.topk_ids,
           .here = count_step_.here,
           .sorted_before = 0,
           .taken = ints(at.taken),
           .choices = sort ? ints(at.choices) : nullptr,
           .top_k = Divisor(p.top_k),
           .columns = Divisor(static_cast<int>(std::max<std::int64_t>(columns_of(c, p.intermediate, paired), 1))),
           .a = call.x,
           .a_row = call.x_row,
           .w = call.w13,
           .w_expert = call.w13_expert,
           .w_row = paired && interleaved && !p.transposed ? 2 * call.w13_row : call.w13_row,
           .w_up = p.transposed ? apart : apart * call.w13_row,
           .bias = call.b13,
           .bias_expert = call.b13_expert,
           .bias_step = paired && interleaved ? 2 : 1,
           .bias_up = static_cast<int>(apart),
           .weights = weighs_input ? call.topk_weights : nullptr,
           .out = workspace + at.h,
           .z = p.keeps ? call.z : nullptr,
           .depth = p.hidden,
           .outputs = p.intermediate,
           .transposed = p.transposed,
           .paired = paired,
           .activates = 1,
           .activation = p.activation,
           .alpha = p.alpha,
           .limit = p.limit,
           .shift = p.shift};
  if (!sort) first.a_row = 0;  // the row of each choice is the one of x
  first_.gathers = !p.sorted;
  first_.phases = in_one_phase(first.columns);
  first_.sums = {};
  second_.gathers = 0;
  second_.phases = phases;
  second_.sums = {.units = count_step_.units,
                  .places = ints(at.places),
                  .weights = count_step_.weights,
                  .out = call.out,
                  .out_row = call.out_row,
                  .top_k = p.top_k};
  ExpertsProductParams& second = second_.product;
  second = first;
  ++second.taken;
  second.sorted_before = 1;
  second.choices = nullptr;
  second.columns = Divisor(last_columns(c, p));
  second.a = workspace + at.h;
  second.a_row = p.intermediate;
  second.w = call.w2;
  second.w_expert = call.w2_expert;
  second.w_row = call.w2_row;
  second.w_up = 0;
  second.bias = call.b2;
  second.bias_expert = call.b2_expert;
  second.bias_step = 1;
  second.bias_up = 0;
  second.weights = nullptr;
  second.out = workspace + at.y;
  second.z = nullptr;
  second.depth = p.intermediate;
  second.outputs = p.hidden;
  second.paired = 0;
  second.activates = 0;

  count_ = 0;
  if (p.rows() == 0) return {};
  if (counts(p)) add(&count_step_);
  if (sort) add(&place_step_);
  if (p.owned() > 0) {
    const bool wgmma = c.engine == ExpertsEngine::kWgmma;
    for (WgmmaExpertsParams* const params : {&first_, &second_}) {
      if (wgmma)
        if (auto ok = encode_maps(*params, c, p.owned(), p.rows(), encode); !ok) return ok;
      add(wgmma ? static_cast<const void*>(params) : &params->product);
    }
  }
  add(&sum_step_);
  return {};
}

std::optional<std::string> misalignment_of(const ExpertsCall& call) {
  const auto address = [](const char* name, const void* pointer) -> std::optional<std::string> {
    if (reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0) return std::nullopt;
    return fmt::format("{}: address {:#x}; accepted on a GPU: a multiple of 16", name,
                       reinterpret_cast<std::uintptr_t>(pointer));
  };
  const auto stride = [](const char* name, const char* of, std::int64_t elements) -> std::optional<std::string> {
    if (elements % 8 == 0) return std::nullopt;
    return fmt::format("{}: {} stride {}; accepted on a GPU: a multiple of 8", name, of, elements);
  };
  // Where a token's row begins is a number of 32 bits, in units of 8 elements (wgmma/row_gatherer.cuh).
  constexpr std::int64_t kElements = std::int64_t{1} << 35;
  if (!call.problem.sorted && call.problem.tokens > 1 &&
      call.x_row >= (kElements + call.problem.tokens - 2) / (call.problem.tokens - 1))
    return fmt::format("x: {} rows that lie {} elements apart; accepted on a GPU: the last begins before 2^35 elements",
                       call.problem.tokens, call.x_row);
  for (auto wrong : {address("x", call.x), stride("x", "row", call.x_row), address("w13", call.w13),
                     stride("w13", "expert", call.w13_expert), stride("w13", "row", call.w13_row),
                     address("w2", call.w2), stride("w2", "expert", call.w2_expert), stride("w2", "row", call.w2_row),
                     address("z", call.z), address("out", call.out), stride("out", "row", call.out_row)})
    if (wrong) return wrong;
  return std::nullopt;
}

}  // namespace flashfit
