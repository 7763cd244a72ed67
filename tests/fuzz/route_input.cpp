#include "route_input.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "sealed.hpp"

namespace flashfit::fuzz {

RouteInput::RouteInput(Bytes& bytes, Arena& arena) {
  arena.reset();
  lay_out(bytes, arena);
  for (int twists = 0; !bytes.empty() && twists < 12; ++twists) twist(bytes, arena);
  for (InputTensor& t : tensors_) t.seal();
  args_.logits = tensors_[stands_for_[kLogits]].argument();
  args_.weights = tensors_[stands_for_[kWeights]].argument();
  args_.ids = tensors_[stands_for_[kIds]].argument();
  sealed_ = sealed(args_, tail_);
}

void RouteInput::lay_out(Bytes& bytes, Arena& arena) {
  constexpr std::int64_t kExperts[] = {8, 1, 128, 2, 33, 512, 300, 64};
  const unsigned mode = bytes.byte();
  args_.struct_size = sizeof args_;
  args_.flags = (mode & 2 ? FLASHFIT_TOPK_FIRST : 0) | (mode & 4 ? FLASHFIT_RENORMALIZE : 0);
  const auto tokens = static_cast<std::int64_t>(bytes.below(7));
  const std::int64_t experts = bytes.pick(kExperts), most = std::min<std::int64_t>(experts, 16);
  const auto top_k = static_cast<std::int64_t>(1 + bytes.below(static_cast<std::size_t>(most)));
  const DLDevice device{mode & 1 ? kDLCUDA : kDLCPU, 0};
  std::uint8_t* free = arena.begin() + 64;
  const auto place = [&](InputTensor& t, std::vector<std::int64_t> shape, DLDataType dtype, std::int64_t gap) {
    t.ndim = static_cast<int>(shape.size());
    t.shape = std::move(shape);
    t.strides = {t.shape[1] + gap, 1};
    t.dl = {free, device, 0, dtype, nullptr, nullptr, 0};
    free += static_cast<std::size_t>(t.shape[0] * t.strides[0] * dtype.bits / 8 + 127) / 64 * 64;
  };
  place(tensors_[kLogits], {tokens, experts}, kDTypes[bytes.below(3)], mode & 8 ? 5 : 0);
  place(tensors_[kWeights], {tokens, top_k}, {kDLFloat, 32, 1}, 0);
  place(tensors_[kIds], {tokens, top_k}, {kDLInt, 32, 1}, 0);
}

void RouteInput::twist(Bytes& bytes, Arena& arena) {
  constexpr const char* kVariants[] = {"", "route", "route_warp_bf16_e128_w4", "two\nlines\x1b[2J", "\xff\xfe"};
  constexpr std::uint32_t kSizes[] = {0, 4, 40, 47, 48, 49, 56, 64, 72, 80, 4096, 4097, ~0u};
  const std::size_t what = bytes.below(kTensorTwists + 10);
  if (what < kTensorTwists) return fuzz::twist(what, tensors_[bytes.below(kTensors)], tensors_, bytes, arena);
  switch (what - kTensorTwists) {
    case 0:
      args_.flags = bytes.below(2) ? bytes.number<std::uint32_t>() : static_cast<std::uint32_t>(bytes.below(4)) * 256;
      if (bytes.below(4) == 3) args_.flags ^= bytes.below(2) ? FLASHFIT_SIGMOID : FLASHFIT_SQRT_SOFTPLUS;
      return;
    case 1:
      args_.stream = reinterpret_cast<void*>(bytes.number<std::uintptr_t>());
      return;
    case 2:
      args_.struct_size = bytes.below(2) ? bytes.number<std::uint32_t>() : bytes.pick(kSizes);
      return;
    case 3:
      tail_.assign(bytes.below(64), bytes.byte());
      return;
    case 4:
      null_args_ = bytes.below(2) == 0;
      return;
    case 5:
      stands_for_[bytes.below(kTensors)] = static_cast<int>(bytes.below(kTensors));
      return;
    case 6: {  // together a sound call of an odd size: of tokens, or of top_k
      const std::size_t d = bytes.below(2);
      const std::int64_t size = bytes.odd_number();
      for (const TensorIndex index : {kLogits, kWeights, kIds})
        if (InputTensor& t = tensors_[index];
            (d == 0 || index != kLogits) && t.shape.size() == 2 && t.strides.size() == 2)
          t.shape[d] = size, t.null_strides |= index != kLogits;
      return;
    }
    case 7: {
      const DLDevice device{bytes.below(2) ? kDLCUDA : kDLCUDAHost, static_cast<int>(bytes.odd_number())};
      for (InputTensor& t : tensors_) t.dl.device = device;
      return;
    }
    case 8:
      args_.groups = static_cast<std::int32_t>(bytes.below(9)),
      args_.groups_kept = static_cast<std::int32_t>(bytes.below(5));
      args_.scale = bytes.below(2) ? 2.5F : std::bit_cast<float>(bytes.number<std::uint32_t>());
      return;
    default:
      variant_ = bytes.pick(kVariants);
      args_.variant = variant_.c_str();
  }
}

const flashfit_moe_route_args* RouteInput::args() const {
  return null_args_ ? nullptr : reinterpret_cast<const flashfit_moe_route_args*>(sealed_.get());
}

RouteExplainInput::RouteExplainInput(Bytes& bytes) {
  constexpr const char* kGpus[] = {"L4", "8.9", nullptr, "H100", "7.0", "all", "9.9", "", "no such\ngpu \x7f", "\xff"};
  constexpr const char* kDTypes[] = {"fp32", "fp16", "bf16", nullptr, "fp8\r", ""};
  constexpr const char* kVariants[] = {"route_warp_fp32_e128_w4", "", "no such\nrow"};
  constexpr std::uint32_t kSizes[] = {sizeof args_, sizeof args_, 0, 4, 56, 63, 64, 65, 72, 80, 4096, 4097, ~0u};
  args_.struct_size = bytes.pick(kSizes);
  args_.flags = bytes.below(4) == 3 ? bytes.number<std::uint32_t>() : static_cast<std::uint32_t>(bytes.below(4)) * 256;
  args_.gpu = bytes.pick(kGpus);
  args_.dtype = bytes.pick(kDTypes);
  args_.tokens = 512;
  args_.experts = 128;
  args_.top_k = 8;
  std::int64_t* sizes[] = {&args_.tokens, &args_.experts, &args_.top_k};
  for (int twists = 0; !bytes.empty() && twists < 8; ++twists) {
    const std::size_t which = bytes.below(std::size(sizes) + 3);
    if (which < std::size(sizes))
      *sizes[which] = bytes.odd_number();
    else if (which == std::size(sizes))
      args_.cuda_version = bytes.number<std::int32_t>();
    else if (which == std::size(sizes) + 1)
      args_.reserved = bytes.byte();
    else
      args_.variant = bytes.pick(kVariants);
  }
  sealed_ = sealed(args_);
}

bool RouteExplainInput::may_be_answered() const {
  constexpr std::int64_t kMaxSize = 2147418112;  // docs/api.md
  constexpr std::string_view kGpus[] = {"L4", "8.9", "H100", "7.0", "all"}, kDTypes[] = {"fp16", "bf16", "fp32"};
  if (args_.struct_size < sizeof args_ || args_.struct_size > 4096 || args_.struct_size % 8) return false;
  const std::uint32_t alone = FLASHFIT_SIGMOID | FLASHFIT_SQRT_SOFTPLUS;
  const std::uint32_t known = FLASHFIT_PTX_ONLY | FLASHFIT_TOPK_FIRST | FLASHFIT_RENORMALIZE | alone;
  if (std::popcount(args_.flags & (FLASHFIT_TOPK_FIRST | alone)) > 1) return false;
  return (args_.flags & ~known) == 0 && args_.reserved == 0 && args_.cuda_version >= 0 && args_.tokens >= 0 &&
         args_.tokens <= kMaxSize && args_.experts >= 1 && args_.experts <= 512 && args_.top_k >= 1 &&
         args_.top_k <= std::min<std::int64_t>(args_.experts, 16) &&
         std::ranges::count(kGpus, args_.gpu ? args_.gpu : "all") == 1 && args_.dtype &&
         std::ranges::count(kDTypes, args_.dtype) == 1;
}

}  // namespace flashfit::fuzz
