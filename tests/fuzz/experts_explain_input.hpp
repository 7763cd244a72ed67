#pragma once
// A question to flashfit_fused_moe_explain_json as a fuzzer's input describes it, and whether flashfit.h calls it
// sound.
#include <algorithm>
#include <memory>
#include <string_view>

#include "bytes.hpp"
#include "flashfit/flashfit.h"
#include "sealed.hpp"

namespace flashfit::fuzz {

class ExpertsExplainInput {
 public:
  explicit ExpertsExplainInput(Bytes& bytes) {
    constexpr const char* kGpus[] = {"L4",  "8.9", nullptr, "H100", "7.0", "all", "9.9", "", "no such\ngpu \x7f",
                                     "\xff"};
    constexpr const char* kDTypes[] = {"bf16", "fp16", "fp32", nullptr, "fp8\r", ""};
    constexpr const char* kVariants[] = {"experts_mma_bf16_16x64x64_w1x4_s4_b4", "", "no such\nrow"};
    constexpr std::uint32_t kSizes[] = {sizeof args_, sizeof args_, 0, 4, 80, 87, 88, 89, 96, 4096, 4097, ~0u};
    args_.struct_size = bytes.pick(kSizes);
    args_.flags = bytes.below(4) == 3 ? bytes.number<std::uint32_t>()
                                      : static_cast<std::uint32_t>(bytes.below(16)) * FLASHFIT_TRANSPOSED;
    args_.gpu = bytes.pick(kGpus);
    args_.dtype = bytes.pick(kDTypes);
    args_.activation = static_cast<std::int32_t>(bytes.below(6));
    args_.tokens = 512, args_.experts = 128, args_.top_k = 8, args_.hidden = 2048, args_.intermediate = 768;
    std::int64_t* sizes[] = {&args_.tokens, &args_.experts, &args_.top_k, &args_.hidden, &args_.intermediate};
    std::int32_t* numbers[] = {&args_.cuda_version, &args_.experts_low, &args_.experts_high, &args_.activation};
    for (int twists = 0; !bytes.empty() && twists < 8; ++twists) {
      const std::size_t which = bytes.below(std::size(sizes) + 3);
      if (which < std::size(sizes)) {
        *sizes[which] = bytes.odd_number();
      } else if (which == std::size(sizes)) {
        *bytes.pick(numbers) = static_cast<std::int32_t>(bytes.odd_number());
      } else if (which == std::size(sizes) + 1) {
        args_.experts_low = static_cast<std::int32_t>(bytes.below(130));
        args_.experts_high = static_cast<std::int32_t>(bytes.below(130));
      } else {
        args_.variant = bytes.pick(kVariants);
      }
    }
    sealed_ = sealed(args_);
  }

  /// Exactly as much memory as a library of this version may read.
  const flashfit_fused_moe_explain_args* args() const {
    return reinterpret_cast<const flashfit_fused_moe_explain_args*>(sealed_.get());
  }

  /// Whether it must be answered; a variant may be refused for reasons that only the table knows.
  bool is_sound() const { return may_be_answered() && !args_.variant; }

  /// Whether an answer is right; a variant's name is not looked at.
  bool may_be_answered() const {
    constexpr std::string_view kGpus[] = {"L4", "8.9", "H100", "7.0", "all"}, kDTypes[] = {"fp16", "bf16", "fp32"};
    constexpr std::uint32_t kKnown =
        FLASHFIT_PTX_ONLY | FLASHFIT_TRANSPOSED | FLASHFIT_INTERLEAVED | FLASHFIT_WEIGHT_ON_INPUT | FLASHFIT_KEEPING;
    const auto in = [](std::int64_t least, std::int64_t size, std::int64_t most) {
      return size >= least && size <= most;
    };
    const flashfit_fused_moe_explain_args& a = args_;
    if (a.struct_size < sizeof a || a.struct_size > 4096 || a.struct_size % 8) return false;
    if (a.flags & ~kKnown || !in(FLASHFIT_SWIGLU, a.activation, FLASHFIT_RELU2)) return false;
    if (a.flags & FLASHFIT_INTERLEAVED && a.activation >= FLASHFIT_SILU) return false;
    if (!in(1, a.experts, 512)) return false;
    const bool part = a.experts_low != 0 || a.experts_high != 0;
    if (part && !(in(0, a.experts_low, a.experts - 1) && in(a.experts_low + 1, a.experts_high, a.experts)))
      return false;
    return in(1, a.top_k, 16) && in(0, a.tokens, 2147483647 / a.top_k) && in(1, a.hidden, 1 << 20) &&
           in(1, a.intermediate, 1 << 20) && a.cuda_version >= 0 &&
           std::ranges::count(kGpus, a.gpu ? a.gpu : "all") == 1 && a.dtype &&
           std::ranges::count(kDTypes, a.dtype) == 1;
  }

 private:
  flashfit_fused_moe_explain_args args_{};
  std::unique_ptr<std::uint8_t[]> sealed_;
};

}  // namespace flashfit::fuzz
