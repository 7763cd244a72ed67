#include "runtime/api/attention/explain_request.hpp"

#include <fmt/format.h>

#include <string_view>

#include "kernels/attention/forward/plan/misfit.hpp"
#include "runtime/api/argument.hpp"
#include "runtime/api/attention/problem_rows.hpp"
#include "runtime/api/attention/window.hpp"
#include "runtime/api/question.hpp"
#include "runtime/api/versioned.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::api {
namespace {

constexpr std::uint32_t kKnownFlags = FLASHFIT_CAUSAL | FLASHFIT_PTX_ONLY | FLASHFIT_VARIABLE_LENGTH | FLASHFIT_WINDOW |
                                      FLASHFIT_BATCH_INVARIANT | FLASHFIT_SOFTCAP | FLASHFIT_ALIBI |
                                      FLASHFIT_UNALIGNED | FLASHFIT_SINKS;
/// Of a what-if: bounds that keep its sums in 32 bits.
constexpr std::int64_t kMaxTileHeadDim = 1024;

Result<BiasKind> parse_bias(const char* name, DType dtype, bool ragged) {
  if (!name) return BiasKind::kNone;
  if (ragged)
    return fail(Code::kInvalidArgument,
                fmt::format("bias: \"{}\" with FLASHFIT_VARIABLE_LENGTH; accepted: NULL there", name));
  const std::string_view kind = name;
  if (kind == "bool") return BiasKind::kVisible;
  if (kind == name_of(DType::kF32)) return BiasKind::kF32;
  if (kind == name_of(dtype)) return BiasKind::kLikeQ;
  return fail(
      Code::kInvalidArgument,
      fmt::format("bias: \"{}\"; accepted: \"bool\", \"fp32\", the dtype (\"{}\"), NULL", name, name_of(dtype)));
}

Result<ForwardProblem> problem_of(const flashfit_explain_args& args) {
  const auto dtype = parse_dtype(args.dtype);
  if (!dtype) return tl::unexpected(dtype.error());
  const bool ragged = args.flags & FLASHFIT_VARIABLE_LENGTH;
  const std::int64_t most_rows = ragged ? 0 : kMaxSize, most_total = ragged ? kMaxSize : 0;
  auto ok = check_numbers({{"batch", args.batch, 1, kMaxSize},
                           {"seqlen_q", args.seqlen_q, 0, most_rows},
                           {"seqlen_k", args.seqlen_k, 0, most_rows},
                           {"total_q", args.total_q, 0, most_total},
                           {"total_k", args.total_k, 0, most_total},
                           {"heads_q", args.heads_q, 1, kMaxSize},
                           {"heads_kv", args.heads_kv, 1, kMaxSize},
                           {"head_dim", args.head_dim, 1, kMaxSize},
                           {"head_dim_v", args.head_dim_v, 0, kMaxSize}});
  if (!ok) return tl::unexpected(std::move(ok.error()));
  if (args.heads_q % args.heads_kv) {
    return fail(Code::kInvalidArgument,
                fmt::format("heads_kv: {}; accepted: a divisor of heads_q, {}", args.heads_kv, args.heads_q));
  }
  ForwardProblem p;
  p.dtype = *dtype;
  p.head_dim = static_cast<int>(args.head_dim);
  p.head_dim_v = static_cast<int>(args.head_dim_v ? args.head_dim_v : args.head_dim);
  p.batch = args.batch;
  p.heads_q = args.heads_q;
  p.heads_kv = args.heads_kv;
  p.causal = args.flags & FLASHFIT_CAUSAL;
  ragged ? set_ragged_rows(p, args.total_q, args.total_k) : set_dense_rows(p, args.seqlen_q, args.seqlen_k);
  p.softcap = args.flags & FLASHFIT_SOFTCAP;
  p.alibi = args.flags & FLASHFIT_ALIBI;
  p.sinks = args.flags & FLASHFIT_SINKS;
  p.unaligned = args.flags & FLASHFIT_UNALIGNED;
  p.batch_invariant = args.flags & FLASHFIT_BATCH_INVARIANT;
  const auto bias = parse_bias(args.bias, *dtype, ragged);
  if (!bias) return tl::unexpected(bias.error());
  p.bias = *bias;
  const Window window{(args.flags & FLASHFIT_WINDOW) != 0, args.window_left, args.window_right};
  ok = set_window(p, window);
  if (!ok) return tl::unexpected(std::move(ok.error()));
  return p;
}

Result<std::optional<ForwardConfig>> tile_of(const flashfit_explain_args& args, const ForwardProblem& problem) {
  if (!args.block_m && !args.block_n && !args.warps && !args.stages) return std::nullopt;
  if (args.variant || (args.flags & FLASHFIT_PTX_ONLY)) {
    return fail(Code::kInvalidArgument,
                fmt::format("block_m: {} with {}; accepted: 0, or a tile alone", args.block_m,
                            args.variant ? fmt::format("variant \"{}\"", args.variant) : "FLASHFIT_PTX_ONLY"));
  }
  auto ok = check_numbers({{"block_m", args.block_m, 16, 4096},
                           {"block_n", args.block_n, 16, 4096},
                           {"warps", args.warps, 0, 32},
                           {"stages", args.stages, 0, 8},
                           {"head_dim", args.head_dim, 1, kMaxTileHeadDim},
                           {"head_dim_v", args.head_dim_v, 0, kMaxTileHeadDim}});
  if (!ok) return tl::unexpected(std::move(ok.error()));
  ForwardConfig tile = tile_config(problem.dtype, problem.head_dim, args.block_m, args.block_n,
                                   args.warps ? args.warps : 4, args.stages ? args.stages : 2);
  tile.head_dim_v = problem.head_dim_v;
  return variant_or_self(tile);
}

}  // namespace

Result<ExplainRequest> read_explain(const flashfit_explain_args* caller_args) {
  const auto args = current_version(caller_args);
  if (!args) return tl::unexpected(args.error());
  if (const std::uint32_t unknown = args->flags & ~kKnownFlags) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("flags: {:#x} is unknown; accepted: FLASHFIT_CAUSAL ({:#x}), FLASHFIT_PTX_ONLY ({:#x}), "
                    "FLASHFIT_VARIABLE_LENGTH ({:#x}), FLASHFIT_WINDOW ({:#x}), FLASHFIT_BATCH_INVARIANT "
                    "({:#x}), FLASHFIT_SOFTCAP ({:#x}), FLASHFIT_ALIBI ({:#x}), FLASHFIT_UNALIGNED ({:#x}), "
                    "FLASHFIT_SINKS ({:#x})",
                    unknown, FLASHFIT_CAUSAL, FLASHFIT_PTX_ONLY, FLASHFIT_VARIABLE_LENGTH, FLASHFIT_WINDOW,
                    FLASHFIT_BATCH_INVARIANT, FLASHFIT_SOFTCAP, FLASHFIT_ALIBI, FLASHFIT_UNALIGNED, FLASHFIT_SINKS));
  }
  ExplainRequest request;
  const auto problem = problem_of(*args);
  if (!problem) return tl::unexpected(problem.error());
  request.problem = *problem;
  if (args->cuda_version < 0)
    return fail(Code::kInvalidArgument,
                fmt::format("cuda_version: {}; accepted: 12090 for 12.9, or 0", args->cuda_version));
  const auto tile = tile_of(*args, *problem);
  if (!tile) return tl::unexpected(tile.error());
  request.tile = *tile;
  request.options = {args->variant ? args->variant : "", (args->flags & FLASHFIT_PTX_ONLY) != 0};
  if (args->variant) {
    if (const auto named = variant_named(args->variant, *problem, carried_images()); !named)
      return tl::unexpected(named.error());
  }
  request.driver = args->cuda_version;
  auto gpus = gpus_of(args->gpu, request.driver);
  if (!gpus) return tl::unexpected(std::move(gpus.error()));
  request.gpus = std::move(*gpus);
  return request;
}

Explanation explained(const ExplainRequest& r, const Gpu& gpu) {
  return r.tile ? explanation(what_if(*r.tile, r.problem, gpu, carried_images()), gpu)
                : explanation(r.problem, gpu, r.driver, carried_images(), r.options);
}

}  // namespace flashfit::api
