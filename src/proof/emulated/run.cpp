#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/attention/forward/combine/variants.hpp"
#include "kernels/attention/forward/params.hpp"
#include "kernels/attention/forward/plan/candidates.hpp"
#include "kernels/attention/forward/plan/splits.hpp"
#include "kernels/attention/forward/plan/steps.hpp"
#include "kernels/attention/forward/wgmma/params.hpp"
#include "kernels/attention/pack.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/tensor_map.hpp"
#include "proof/emulated/forward.hpp"
#include "proof/emulated/steps.hpp"

namespace flashfit::emulated {
namespace {

/// From the first element to the last: red zones stay outside.
std::size_t bytes_of(const reference::Tensor& t) {
  if (t.batch == 0 || t.rows == 0 || t.heads == 0) return 0;
  const std::int64_t last = t.index(t.batch - 1, t.rows - 1, t.heads - 1, t.dim - 1) - t.origin;
  return static_cast<std::size_t>(last + 1) * size_of(t.storage->dtype);
}

emu::Memory memory_of(const reference::ForwardData& data, const ForwardParams& p) {
  emu::Memory memory;
  memory.read_only("q", p.q, bytes_of(data.q));
  memory.read_only("k", p.k, bytes_of(data.k));
  memory.read_only("v", p.v, bytes_of(data.v));
  memory.writable("o", p.o, bytes_of(data.out));
  if (p.lse != nullptr) memory.writable("lse", p.lse, data.lse_count() * sizeof(float));
  memory.read_only("cu_seqlens_q", p.cu_seqlens_q, data.cu_seqlens_q.size() * sizeof(std::int32_t));
  memory.read_only("cu_seqlens_k", p.cu_seqlens_k, data.cu_seqlens_k.size() * sizeof(std::int32_t));
  const reference::OptionData& options = data.options;
  memory.read_only("seqused_k", p.seqused_k, options.seqused_k.size() * sizeof(std::int32_t));
  memory.read_only("alibi_slopes", p.alibi_slopes, options.alibi_slopes.size() * sizeof(float));
  memory.read_only("sinks", p.sinks, options.sinks.size() * sizeof(float));
  memory.read_only("bias", p.bias, options.bias.bytes.size());
  return memory;
}

/// Persistent blocks: so few that each of them computes several tiles.
constexpr std::int64_t kResidentBlocks = 3;

Result<emu::Stats> launch(const EmulatedKernel& kernel, const ForwardCall& call, const ForwardParams& params,
                          emu::Memory memory, emu::Options options) {
  const EmulatedKernel& combining = *std::ranges::find(
      emulated_combines(), call.problem.dtype,
      [](const EmulatedKernel& k) { return static_cast<const CombineVariant*>(k.variant.form)->config.dtype; });
  const Image image = image_of(kernel), combine = image_of(combining);
  const Steps steps = forward_steps(image, &combine, call.problem, params.slots, params.splits, kResidentBlocks);
  ForwardArguments arguments;
  const ForwardConfig& config = forward_variant_of(kernel.variant).config;
  int taken = 1 << 20;  // a launch that does not clear it computes nothing
  memory.writable("taken", &taken, sizeof taken);
  if (auto ok = arguments.set(config, call, params, emu::encode_tensor_map, shares_counter(steps) ? &taken : nullptr);
      !ok)
    return tl::unexpected(ok.error());
  const EmulatedKernel kernels[] = {kernel, combining};
  return run_steps(steps.all(), arguments.all(), kernels, memory, std::move(options));
}

/// Cut in parts as the plan cuts them.
KeySplits cut(const ForwardConfig& c, const ForwardProblem& p, int splits) {
  const std::int64_t tiles = (p.seqlen_k + c.block_n - 1) / c.block_n;
  if (splits == 1 || tiles < 2 || !takes_parts(c)) return {};
  const Splits parts = cut_evenly(tiles, splits);
  return {parts.splits, parts.tiles};
}

}  // namespace

Result<emu::Stats> run(const EmulatedKernel& kernel, reference::ForwardData& data, emu::Options options,
                       const std::function<void(ForwardParams&)>& adjust, int splits) {
  const ForwardCall given = data.call(), call = packs_heads(given.problem) ? pack_heads(given) : given;
  const ForwardConfig& config = forward_variant_of(kernel.variant).config;
  const auto slots = slots_for(call.problem, config.block_m, packed_heads(config, call.problem));
  if (!slots) return fail(Code::kInternal, "the plan has no launch for this case");
  KeySplits parts = cut(config, call.problem, splits);
  // What a kernel reads of it before it was written is no number.
  const auto items = static_cast<std::size_t>(call.problem.total_q * call.problem.heads_q * parts.splits);
  std::vector<float> partial_o(parts.splits > 1 ? items * config.head_dim_v : 0,
                               std::numeric_limits<float>::signaling_NaN());
  std::vector<float> partial_lse(parts.splits > 1 ? items : 0, std::numeric_limits<float>::signaling_NaN());
  parts.o = partial_o.data(), parts.lse = partial_lse.data();
  ForwardParams params = forward_params(call, *slots, parts);
  if (adjust) adjust(params);
  emu::Memory memory = memory_of(data, params);
  if (parts.splits > 1) {
    memory.writable("partial_o", partial_o.data(), partial_o.size() * sizeof(float));
    memory.writable("partial_lse", partial_lse.data(), partial_lse.size() * sizeof(float));
  }
  return launch(kernel, call, params, memory, std::move(options));
}

Result<emu::Stats> run(const EmulatedKernel& kernel, const ForwardCall& call, const emu::Memory& memory,
                       emu::Options options) {
  const ForwardConfig& config = forward_variant_of(kernel.variant).config;
  const auto slots = slots_for(call.problem, config.block_m, packed_heads(config, call.problem));
  if (!slots) return fail(Code::kInternal, "the plan has no launch for this case");
  return launch(kernel, call, forward_params(call, *slots), memory, std::move(options));
}

}  // namespace flashfit::emulated
