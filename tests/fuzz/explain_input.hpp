#pragma once
// A question to flashfit_explain_json as a fuzzer's input describes it, and whether flashfit.h calls it sound.
#include <algorithm>
#include <memory>
#include <string_view>

#include "bytes.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::fuzz {

class ExplainInput {
 public:
  explicit ExplainInput(Bytes& bytes) {
    constexpr const char* kGpus[] = {"L4",       "8.9", nullptr, "H100", "7.0", "all", "9.9", "", "no such\ngpu \x7f",
                                     "\xff\xfe", "8.",  "-1.5"};
    constexpr const char* kDTypes[] = {"fp16", "bf16", "fp32", nullptr, "fp8\r", ""};
    constexpr std::uint32_t kSizes[] = {sizeof args_, sizeof args_, 0, 4, 79, 80, 81, 96, 4096, 4097, ~0u};
    args_.struct_size = bytes.pick(kSizes);
    args_.flags = bytes.below(4) == 3 ? bytes.number<std::uint32_t>() : static_cast<std::uint32_t>(bytes.below(4));
    args_.gpu = bytes.pick(kGpus);
    args_.dtype = bytes.pick(kDTypes);
    args_.batch = args_.heads_q = args_.heads_kv = 1;
    args_.seqlen_q = args_.seqlen_k = 512;
    args_.head_dim = 64;
    std::int64_t* sizes[] = {&args_.batch,   &args_.seqlen_q, &args_.seqlen_k,
                             &args_.heads_q, &args_.heads_kv, &args_.head_dim};
    for (int twists = 0; !bytes.empty() && twists < 8; ++twists) {
      const std::size_t which = bytes.below(std::size(sizes) + 2);
      if (which < std::size(sizes)) {
        *sizes[which] = bytes.odd_number();
      } else if (which == std::size(sizes)) {
        args_.cuda_version =
            bytes.below(2) ? bytes.number<std::int32_t>() : 12000 + 10 * static_cast<int>(bytes.below(20));
      } else {
        args_.reserved = bytes.byte();
      }
    }
    const std::size_t size = args_.struct_size <= 4096 ? std::max<std::size_t>(args_.struct_size, 4) : sizeof args_;
    sealed_ = std::make_unique<std::uint8_t[]>(size);
    std::memcpy(sealed_.get(), &args_, std::min(size, sizeof args_));
  }

  /// Exactly as much memory as a library of this version may read.
  const flashfit_explain_args* args() const { return reinterpret_cast<const flashfit_explain_args*>(sealed_.get()); }

  bool is_sound() const {
    constexpr std::int64_t kMaxSize = 2147418112;  // docs/api.md
    const auto from = [](std::int64_t least, std::int64_t size) { return size >= least && size <= kMaxSize; };
    const std::string_view gpu = args_.gpu ? args_.gpu : "all", dtype = args_.dtype ? args_.dtype : "";
    return args_.struct_size >= 80 && args_.struct_size <= 4096 && args_.flags <= 3 && args_.reserved == 0 &&
           args_.cuda_version >= 0 && (dtype == "fp16" || dtype == "bf16" || dtype == "fp32") &&
           (gpu == "L4" || gpu == "8.9" || gpu == "H100" || gpu == "7.0" || gpu == "all") && from(1, args_.batch) &&
           from(0, args_.seqlen_q) && from(0, args_.seqlen_k) && from(1, args_.heads_q) && from(1, args_.heads_kv) &&
           from(1, args_.head_dim) && args_.heads_q % args_.heads_kv == 0;
  }

 private:
  flashfit_explain_args args_{};
  std::unique_ptr<std::uint8_t[]> sealed_;
};

}  // namespace flashfit::fuzz
