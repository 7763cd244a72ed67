#include "kernels/attention/forward/plan/misfit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "kernels/attention/forward/combine/params.hpp"

namespace flashfit {
namespace {

/// "128", or "192 (v 128)".
std::string head_dims(int head_dim, int head_dim_v) {
  return head_dim_v == head_dim ? fmt::format("{}", head_dim) : fmt::format("{} (v {})", head_dim, head_dim_v);
}
std::string shape(const ForwardProblem& p) {
  return fmt::format(
      "{} head_dim {}{}", name_of(p.dtype), head_dims(p.head_dim, p.head_dim_v),
      needs_general(p) ? " with what plain variants do not do (softcap, ALiBi, bias, unaligned rows)" : "");
}
/// The problem as a forced variant is held against it: shape() with all that some variants do not take.
std::string asked(const ForwardProblem& p) {
  std::vector<std::string_view> more;
  if (p.softcap) more.emplace_back("softcap");
  if (p.alibi) more.emplace_back("ALiBi");
  if (p.bias != BiasKind::kNone) more.emplace_back(p.bias_by_element ? "a bias of single elements" : "a bias");
  if (p.unaligned) more.emplace_back("unaligned rows");
  if (p.no_tensor_maps) more.emplace_back("strides that TMA refuses");
  if (p.variable_length) more.emplace_back("variable length");
  if (p.used_keys) more.emplace_back("seqused_k");
  if (p.window_left >= 0) more.emplace_back("a window to the left");
  return fmt::format("{} head_dim {}, {}/{} heads{}{}", name_of(p.dtype), head_dims(p.head_dim, p.head_dim_v),
                     p.heads_q, p.heads_kv, more.empty() ? "" : " with ", fmt::join(more, ", "));
}
std::string shape(const ForwardConfig& c) {
  return fmt::format("{} head_dim to {}{}", name_of(c.dtype), head_dims(c.head_dim, c.head_dim_v),
                     takes_heads(c)
                         ? ", plain, of sequences of one length, all of whose keys are in use, without a window "
                           "to the left"
                     : c.packs                           ? ", plain, with more query heads than key-value heads"
                     : c.kind == ForwardKind::kPlain     ? ", plain"
                     : c.kind == ForwardKind::kAlibi     ? ", plain or with ALiBi"
                     : c.kind == ForwardKind::kBias      ? ", plain or with a bias of dense keys"
                     : c.engine == ForwardEngine::kWgmma ? ", plain or with softcap"
                                                         : "");
}

}  // namespace

std::optional<Error> misfit_of_problem(const ForwardProblem& p, const Gpu& gpu, CudaVersion driver) {
  if (p.dtype == DType::kF32)
    return misfit(fmt::format("dtype fp32: runs on the CPU only; on {} use fp16{}", describe(gpu),
                              gpu.cc.major >= 8 ? " or bf16" : ""));
  if (p.dtype == DType::kBF16 && gpu.cc.major < 8)
    return misfit(
        fmt::format("dtype bf16: {} has no bf16 tensor cores, compute capability 8.0 is the first with them; use fp16",
                    describe(gpu)));
  if (auto error = misfit_of_driver(gpu, driver)) return error;
  const std::int64_t rows_q = p.variable_length ? p.total_q : p.seqlen_q,
                     rows_k = p.variable_length ? p.total_k : p.seqlen_k;
  if (rows_q > kMaxRows || rows_k > kMaxRows)
    return misfit(fmt::format("{} {}: at most {} rows", p.variable_length ? "total" : "seqlen",
                              std::max(rows_q, rows_k), kMaxRows));
  return std::nullopt;
}

Error misfit_of_images(const Request& r) {
  const ForwardProblem& p = r.problem;
  const auto of_dtype = [&](const Image& i) { return variant_of(i).config.dtype == p.dtype; };
  const auto of_shape = [&](const Image& i) { return of_problem(r, i); };
  const auto any = [&](const auto& of) { return std::any_of(r.images.begin(), r.images.end(), of); };

  if (!any(of_dtype))
    return misfit(fmt::format("dtype {}: this build of flashfit carries no image for it ({} images in all)",
                              name_of(p.dtype), r.images.size()));
  if (!any(of_shape)) {
    if (r.variant != nullptr)
      return misfit(
          fmt::format("variant {}: this build of flashfit carries no image of it", name_of(r.variant->config)));
    int most = 0, most_v = 0;
    for (const Image& i : r.images) {
      const ForwardConfig& c = variant_of(i).config;
      if (c.dtype != p.dtype || !takes_options(c, p)) continue;
      if (c.head_dim > most) most = c.head_dim, most_v = c.head_dim_v;
    }
    return misfit(
        fmt::format("{}: carried for {} are head_dims to {}", shape(p), name_of(p.dtype), head_dims(most, most_v)));
  }
  if (auto error = misfit_of_loading(shape(p), r.images, r.gpu_with_driver(), of_shape)) return std::move(*error);
  int smallest = 0, shortest = 0;
  for (const Image& i : r.images) {
    if (!of_shape(i) || !loads(r.gpu_with_driver(), i)) continue;
    const int bytes = shared_bytes_of(variant_of(i).config);
    smallest = smallest == 0 ? bytes : std::min(smallest, bytes);
    shortest = std::max(shortest, variant_of(i).config.block_m);
  }
  if (smallest > r.gpu.shared_bytes_block)
    return misfit(fmt::format("shared memory: the smallest block of {} takes {} B, {} gives a block {} B", shape(p),
                              smallest, describe(r.gpu), r.gpu.shared_bytes_block));
  if (!slots_for(p, shortest))
    return misfit(fmt::format("grid: batch {} x heads {} x seqlen {} is more than {} thread blocks", p.batch, p.heads_q,
                              p.seqlen_q, kMaxGrid));
  return misfit(fmt::format("registers and threads: no block of {} fits {} ({} registers and {} threads an SM)",
                            shape(p), describe(r.gpu), r.gpu.registers_sm, r.gpu.threads_sm));
}

Result<NamedVariant> variant_named(std::string_view name, const ForwardProblem& p, std::span<const Image> images) {
  int splits = 0;
  if (const std::size_t slash = name.find('/'); slash != std::string_view::npos) {
    const std::string_view parts = name.substr(slash + 1);
    const auto [end, error] = std::from_chars(parts.data(), parts.data() + parts.size(), splits);
    if (error != std::errc() || end != parts.data() + parts.size() || splits < 1 || splits > kMostParts)
      return fail(Code::kInvalidArgument,
                  fmt::format("variant '{}': parts of the keys '{}'; accepted: 1 to {}", name, parts, kMostParts));
    if (const std::int64_t rows = p.total_q * p.heads_q; splits > 1 && rows > kMaxRows)
      return fail(
          Code::kInvalidArgument,
          fmt::format("variant '{}': {} rows of all heads; accepted with parts: up to {}", name, rows, kMaxRows));
    name = name.substr(0, slash);
  }
  images = images_of(kForwardOperation, images);
  std::vector<const ForwardVariant*> variants;
  for (const Image& i : images) variants.push_back(&variant_of(i));
  for (const ForwardVariant& v : forward_variants()) variants.push_back(&v);

  const ForwardVariant* found = nullptr;
  std::vector<std::string> suitable;
  for (const ForwardVariant* variant : variants) {
    const std::string its_name = name_of(variant->config);
    if (found == nullptr && its_name == name) found = variant;
    const bool suits = serves(variant->config, p);
    if (suits && std::find(suitable.begin(), suitable.end(), its_name) == suitable.end()) suitable.push_back(its_name);
  }
  const std::string offer = suitable.empty() ? "none" : fmt::format("{}", fmt::join(suitable, ", "));
  if (found == nullptr)
    return fail(Code::kInvalidArgument,
                fmt::format("variant '{}' is no variant of the table; for {}: {}", name, shape(p), offer));
  if (!serves(found->config, p))
    return fail(Code::kInvalidArgument, fmt::format("variant {} is for {}, the problem is {}; for that: {}", name,
                                                    shape(found->config), asked(p), offer));
  return NamedVariant{found, splits};
}

}  // namespace flashfit
