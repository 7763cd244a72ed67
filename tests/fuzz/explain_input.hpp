#pragma once
// A question to flashfit_explain_json as a fuzzer's input describes it, and whether flashfit.h calls it sound.
#include <algorithm>
#include <memory>
#include <string_view>

#include "bytes.hpp"
#include "flashfit/flashfit.h"
#include "sealed.hpp"

namespace flashfit::fuzz {

class ExplainInput {
 public:
  explicit ExplainInput(Bytes& bytes) {
    constexpr const char* kGpus[] = {"L4",       "8.9", nullptr, "H100", "7.0", "all", "9.9", "", "no such\ngpu \x7f",
                                     "\xff\xfe", "8.",  "-1.5"};
    constexpr const char* kDTypes[] = {"fp16", "bf16", "fp32", nullptr, "fp8\r", ""};
    constexpr const char* kVariants[] = {"fwd_mma_fp16_d64_128x64_w4_s2_b2", "", "no such\nrow"};
    constexpr std::uint32_t kSizes[] = {sizeof args_, sizeof args_, 0, 4, 79, 80, 81, 96, 104, 120, 4096, 4097, ~0u};
    constexpr const char* kBiases[] = {"bool", "fp32", "fp16", "", nullptr};
    args_.struct_size = bytes.pick(kSizes);
    args_.flags = bytes.below(4) == 3 ? bytes.number<std::uint32_t>() : static_cast<std::uint32_t>(bytes.below(256));
    if (args_.flags % 8 == 5) args_.flags |= FLASHFIT_SINKS;
    args_.gpu = bytes.pick(kGpus);
    args_.dtype = bytes.pick(kDTypes);
    const bool ragged = args_.flags & FLASHFIT_VARIABLE_LENGTH;
    args_.batch = args_.heads_q = args_.heads_kv = 1;
    (ragged ? args_.total_q : args_.seqlen_q) = (ragged ? args_.total_k : args_.seqlen_k) = 512;
    args_.head_dim = 64;
    std::int64_t* sizes[] = {&args_.batch,      &args_.seqlen_q,    &args_.seqlen_k,    &args_.heads_q,
                             &args_.heads_kv,   &args_.head_dim,    &args_.total_q,     &args_.total_k,
                             &args_.head_dim_v, &args_.window_left, &args_.window_right};
    std::int32_t* tile[] = {&args_.block_m, &args_.block_n, &args_.warps, &args_.stages};
    for (int twists = 0; !bytes.empty() && twists < 8; ++twists) {
      const std::size_t which = bytes.below(std::size(sizes) + 7);
      if (which < std::size(sizes)) {
        *sizes[which] = bytes.odd_number();
      } else if (which == std::size(sizes)) {
        args_.cuda_version =
            bytes.below(2) ? bytes.number<std::int32_t>() : 12000 + 10 * static_cast<int>(bytes.below(20));
      } else if (which == std::size(sizes) + 1) {
        args_.reserved = bytes.byte();
      } else if (which == std::size(sizes) + 2) {
        args_.variant = bytes.pick(kVariants);
      } else if (which == std::size(sizes) + 4) {
        args_.bias = bytes.pick(kBiases);
      } else if (which == std::size(sizes) + 3) {
        *bytes.pick(tile) = static_cast<std::int32_t>(bytes.odd_number());
      } else {
        for (std::int32_t* number : tile) *number = static_cast<std::int32_t>(16 * bytes.below(16));
        args_.warps = static_cast<std::int32_t>(bytes.below(33));
        args_.stages = static_cast<std::int32_t>(bytes.below(9));
      }
    }
    sealed_ = sealed(args_);
  }

  /// Exactly as much memory as a library of this version may read.
  const flashfit_explain_args* args() const { return reinterpret_cast<const flashfit_explain_args*>(sealed_.get()); }

  /// Whether it must be answered; a variant or a tile may be refused for reasons that only the table knows.
  bool is_sound() const { return may_be_answered() && !mine().variant && !asks_for_a_tile(mine()); }

  /// Whether an answer is right; a variant's name is not looked at.
  bool may_be_answered() const {
    constexpr std::int64_t kMaxSize = 2147418112;  // docs/api.md
    const auto in = [](std::int64_t least, std::int64_t size, std::int64_t most) {
      return size >= least && size <= most;
    };
    if (args_.struct_size < 80 || args_.struct_size > 4096 || args_.struct_size % 8) return false;
    const flashfit_explain_args a = mine();
    const std::string_view gpu = a.gpu ? a.gpu : "all", dtype = a.dtype ? a.dtype : "";
    const std::int64_t dense = a.flags & FLASHFIT_VARIABLE_LENGTH ? 0 : kMaxSize, ragged = kMaxSize - dense;
    if (asks_for_a_tile(a) && (a.variant || a.flags & FLASHFIT_PTX_ONLY || !in(16, a.block_m, 4096) ||
                               !in(16, a.block_n, 4096) || !in(0, a.warps, 32) || !in(0, a.stages, 8)))
      return false;
    const std::int64_t far = a.flags & FLASHFIT_WINDOW ? INT64_MAX : 0, near = a.flags & FLASHFIT_WINDOW ? -1 : 0;
    const std::string_view bias = a.bias ? a.bias : "bool";
    if (!in(0, a.head_dim_v, kMaxSize) || !in(near, a.window_left, far) || !in(near, a.window_right, far) ||
        (a.bias && a.flags & FLASHFIT_VARIABLE_LENGTH) || (bias != "bool" && bias != "fp32" && bias != dtype))
      return false;
    return (a.flags & ~FLASHFIT_SINKS) <= 255 && a.reserved == 0 && a.cuda_version >= 0 &&
           (dtype == "fp16" || dtype == "bf16" || dtype == "fp32") &&
           (gpu == "L4" || gpu == "8.9" || gpu == "H100" || gpu == "7.0" || gpu == "all") && in(1, a.batch, kMaxSize) &&
           in(0, a.seqlen_q, dense) && in(0, a.seqlen_k, dense) && in(0, a.total_q, ragged) &&
           in(0, a.total_k, ragged) && in(1, a.heads_q, kMaxSize) && in(1, a.heads_kv, kMaxSize) &&
           in(1, a.head_dim, kMaxSize) && a.heads_q % a.heads_kv == 0;
  }

 private:
  static bool asks_for_a_tile(const flashfit_explain_args& a) { return a.block_m || a.block_n || a.warps || a.stages; }
  flashfit_explain_args mine() const { return as_read<flashfit_explain_args>(sealed_.get(), args_.struct_size); }

  flashfit_explain_args args_{};
  std::unique_ptr<std::uint8_t[]> sealed_;
};

}  // namespace flashfit::fuzz
