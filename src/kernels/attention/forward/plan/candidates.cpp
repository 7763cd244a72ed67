#include "kernels/attention/forward/plan/candidates.hpp"

#include <algorithm>

#include "kernels/attention/forward/plan/model.hpp"
#include "kernels/attention/forward/plan/registers.hpp"
#include "kernels/attention/forward/plan/splits.hpp"
#include "kernels/attention/forward/plan/steps.hpp"
#include "kernels/attention/forward/wgmma/head_start.hpp"
#include "kernels/attention/forward/wgmma/heads/config.hpp"
#include "kernels/attention/forward/wgmma/tile_columns.hpp"

namespace flashfit {
namespace {

/// What the choice may look at.
ForwardProblem looked_at(const ForwardProblem& p) { return p.batch_invariant ? alone(p) : p; }

/// Whether it has what general variants over mma.sync alone do.
bool needs_general_mma(const ForwardProblem& p) {
  const bool bias = p.bias != BiasKind::kNone;
  if (p.softcap + p.alibi + bias > 1 || p.unaligned || p.head_dim % 8 || p.head_dim_v % 8) return true;
  return bias && (p.bias_by_element || p.seqlen_k % 2 != 0);  // the last key of an odd number has none beside it
}

/// Whether a variant has shorter tiles of keys than the others of its head_dim over wgmma.
bool has_few_keys(const ForwardConfig& c) {
  return c.engine == ForwardEngine::kWgmma && !takes_heads(c) && c.head_dim <= 128 && c.block_n < 96;
}

}  // namespace

bool takes_options(const ForwardConfig& c, const ForwardProblem& p) {
  switch (c.kind) {
    case ForwardKind::kPlain:
      return !needs_general(p);
    case ForwardKind::kGeneral:
      return c.engine == ForwardEngine::kMma || (!p.alibi && p.bias == BiasKind::kNone && !needs_general_mma(p));
    case ForwardKind::kAlibi:
      return !p.softcap && p.bias == BiasKind::kNone && !needs_general_mma(p);
    case ForwardKind::kBias:
      return !p.softcap && !p.alibi && !needs_general_mma(p);
  }
  return false;
}

bool serves(const ForwardConfig& c, const ForwardProblem& p) {
  if (c.engine == ForwardEngine::kWgmma && p.no_tensor_maps) return false;
  if (takes_heads(c) && (p.variable_length || p.used_keys || p.window_left >= 0)) return false;
  if (c.packs && p.heads_q <= p.heads_kv) return false;  // there is nothing to pack
  // A box of TMA has the same heads of each query.
  if (c.packs && c.engine == ForwardEngine::kWgmma && c.block_m % packed_heads(c, p) != 0) return false;
  return c.dtype == p.dtype && c.head_dim >= p.head_dim && c.head_dim_v >= p.head_dim_v && takes_options(c, p);
}

bool needs_general(const ForwardProblem& p) {
  return p.softcap || p.alibi || p.bias != BiasKind::kNone || needs_general_mma(p);
}

bool of_problem(const Request& r, const Image& image) {
  const ForwardConfig& c = variant_of(image).config;
  if (r.variant != nullptr) return r.variant == &variant_of(image) && serves(c, r.problem);
  const ForwardProblem p = looked_at(r.problem);
  // Over wgmma, packing was measured where one head's queries leave a tile partly empty, and what it costs was not.
  if (c.packs && c.engine == ForwardEngine::kWgmma && p.seqlen_q >= c.block_m) return false;
  const bool few_queries = p.seqlen_q <= kFewQueries;
  // A block that takes rounds whose keys do not stay is slower at decoding than one of many on an SM (B16 S1x8192 H32
  // D128 on an H200: 534 against 493 microseconds).
  if (takes_heads(c) && few_queries && p.seqlen_k > std::int64_t{c.stages} * c.block_n) return false;
  // Under a causal mask rounds of a head differ the more the more there are, and blocks that take them do not end
  // together.
  constexpr std::int64_t kMostCausalRounds = 16;
  if (takes_heads(c) && p.causal && p.seqlen_q > kMostCausalRounds * c.block_m) return false;
  // Blocks of 64 rows then end inside tiles of keys: some rows see nothing of their first tile, and their bases are
  // late (B64 S256 H32 D32: 144 against 71 microseconds).
  if (takes_heads(c) && c.block_n % kWarpgroupRows != 0 && (p.causal || p.window_right >= 0)) return false;
  // Few queries by few keys are computed before a block over wgmma has started (1 by 65: 6.2 against 4.3 microseconds),
  // and under a causal mask these tiles were the fastest of none of 60 shapes.
  const bool begins_between = copies_from_sectors(c) && ends_between_sectors(p.head_dim);
  if (has_few_keys(c) && ((p.causal && !begins_between) || few_queries)) return false;
  // One tile of keys takes as long as reading q and writing out, and a block over two warpgroups has more jobs on the
  // way.
  if (has_few_keys(c) && c.stages == 2 && p.seqlen_k <= c.block_n) return false;
  if (has_wide_tiles(c) && few_queries) return false;  // whose keys are cut in parts, which these do not take
  return serves(c, r.problem);
}

std::optional<std::int64_t> slots_for(const ForwardProblem& p, int block_m, int pack) {
  if (p.batch == 0 || p.heads_q == 0) return 0;
  std::int64_t slots = 0, grid = 0, rows = 0;
  if (__builtin_mul_overflow(p.variable_length ? p.total_q : p.seqlen_q, pack, &rows)) return std::nullopt;
  if (pack > 1 && rows > kMaxRows) return std::nullopt;
  if (p.variable_length) {
    if (p.total_q == 0) return 0;
    if (__builtin_add_overflow(rows / block_m, p.batch, &slots)) return std::nullopt;
  } else {
    const std::int64_t tiles = rows / block_m + (rows % block_m != 0);
    if (__builtin_mul_overflow(tiles, p.batch, &slots)) return std::nullopt;
  }
  if (__builtin_mul_overflow(slots, p.heads_q, &grid) || grid > kMaxGrid) return std::nullopt;
  return slots;
}

Registers registers_of(const ForwardConfig& config, const Image* image, std::span<const Image> images) {
  if (image != nullptr && image->registers > 0) return {image->registers, false, image->local_bytes};
  Registers most{0, false, 0};
  for (const Image& other : images)
    if (variant_of(other).config == config && other.registers > most.count)
      most = {other.registers, false, other.local_bytes};
  if (most.count > 0) return most;
  const RegisterEstimate estimate = estimate_registers(config);
  return {estimate.registers, true, 4 * (estimate.wanted - estimate.registers)};
}

std::optional<ForwardPlan> plan_of(const Request& r, const Image& image) {
  const ForwardConfig& c = variant_of(image).config;
  const int pack = packed_heads(c, r.problem);
  const auto slots = slots_for(r.problem, c.block_m, pack);
  const Registers registers = registers_of(c, &image, r.images);
  const Occupancy resident = occupancy({forward_threads(c), registers.count, shared_bytes_of(c)}, r.gpu);
  if (!slots || resident.blocks == 0) return std::nullopt;
  const ForwardProblem chosen_for = looked_at(r.problem);
  const Splits splits = r.combine == nullptr ? Splits{1, 0}
                        : r.splits != 0      ? cut_keys(c, r.problem, r.splits)
                                             : splits_for(c, resident, registers.spill_bytes, chosen_for, r.gpu);
  const Steps steps =
      forward_steps(image, r.combine, r.problem, *slots, splits.splits, std::int64_t{r.gpu.sms} * resident.blocks);
  return ForwardPlan{
      .variant = &variant_of(image),
      .problem = r.problem,
      .by_strides = false,
      .pack = pack,
      .steps = steps,
      .slots = *slots,
      .splits = splits.splits,
      .split_tiles = splits.tiles,
      .workspace_bytes = shares_counter(steps) ? sizeof(int) : workspace_bytes(c, splits.splits, r.problem),
      .registers = registers.count,
      .registers_estimated = registers.estimated,
      .model = forward_model(c, resident, registers.spill_bytes, chosen_for, r.gpu, splits.splits)};
}

void BestPlan::add(const ForwardPlan& plan) {
  std::optional<ForwardPlan>& best = plan.variant->config.engine == ForwardEngine::kMma ? mma_ : wgmma_;
  if (!best || better(plan, *best)) best = plan;
}

const std::optional<ForwardPlan>& BestPlan::get() const {
  if (!mma_ || !wgmma_) return mma_ ? mma_ : wgmma_;
  // wgmma is machine code always.
  return !mma_->image().ptx() && mma_->model.microseconds <= wgmma_->model.microseconds ? mma_ : wgmma_;
}

bool better(const ForwardPlan& a, const ForwardPlan& b) {
  const Target s = a.image().target, t = b.image().target;
  if (s.kind != t.kind) return s.kind == Target::Kind::kSass;
  if (s.kind == Target::Kind::kPtx && s.cc != t.cc) return s.cc > t.cc;
  const ForwardConfig &c = a.variant->config, &d = b.variant->config;
  if (const int x = c.head_dim + c.head_dim_v, y = d.head_dim + d.head_dim_v; x != y) return x < y;
  if (c.kind != d.kind) return c.kind < d.kind;
  if (a.model.microseconds != b.model.microseconds) return a.model.microseconds < b.model.microseconds;
  if (c.packs != d.packs) return !c.packs;
  if (s.cc != t.cc) return s.cc > t.cc;
  return c.block_m > d.block_m;
}

}  // namespace flashfit
