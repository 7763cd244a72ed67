#include "attention_input.hpp"

#include <algorithm>

#include "sealed.hpp"

namespace flashfit::fuzz {
namespace {

constexpr int kHeadDims[] = {64, 8, 128, 1, 32, 24, 16, 7};

}  // namespace

AttentionInput::AttentionInput(Bytes& bytes, Arena& arena) {
  for (int i = 0; i < kTensors; ++i) stands_for_[i] = i;
  arena.reset();
  lay_out(bytes, arena);
  for (int twists = 0; !bytes.empty() && twists < 12; ++twists) twist(bytes, arena);
  seal();
}

void AttentionInput::lay_out(Bytes& bytes, Arena& arena) {
  const unsigned mode = bytes.byte();
  const bool gpu = mode & 1, ragged = mode & 2, heads_first = mode & 4, padded = mode & 8;
  args_.flags = mode & 16 ? FLASHFIT_CAUSAL : 0;
  const DLDataType dtype = kDTypes[bytes.below(gpu ? 2 : 3)];
  const auto batch = static_cast<std::int64_t>(1 + bytes.below(2)), rows_q = static_cast<std::int64_t>(bytes.below(7)),
             rows_k = static_cast<std::int64_t>(bytes.below(7)),
             heads_kv = static_cast<std::int64_t>(1 + bytes.below(2)),
             heads_q = heads_kv * static_cast<std::int64_t>(1 + bytes.below(2));
  const std::int64_t dim = bytes.pick(kHeadDims), dim_v = mode & 128 ? bytes.pick(kHeadDims) : dim;

  const auto shape = [&](std::int64_t rows, std::int64_t heads, std::int64_t d) {
    return ragged ? std::vector{rows, heads, d} : std::vector{batch, rows, heads, d};
  };
  std::uint8_t* free = arena.begin() + 64;
  const auto place = [&](int index, std::vector<std::int64_t> sizes, DLDataType type) {
    InputTensor& t = tensors_[index];
    t.ndim = static_cast<int>(sizes.size());
    t.shape = std::move(sizes);
    t.strides = row_major(t.shape);
    const std::size_t heads = t.shape.size() - 2;
    if (index <= kOut && heads_first) {  // as [.., heads, rows, head_dim] lies in memory
      t.strides[heads - 1] = t.shape.back();
      t.strides[heads] = t.shape.back() * t.shape[heads - 1];
    } else if (index <= kOut && padded) {
      t.strides[heads - 1] += 8;
      if (heads == 2) t.strides[0] = t.strides[1] * t.shape[1];
    }
    t.dl = {free, {gpu ? kDLCUDA : kDLCPU, 0}, 0, type, nullptr, nullptr, 0};
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < t.shape.size(); ++d)
      elements += std::max<std::int64_t>(t.shape[d] - 1, 0) * t.strides[d];
    free += (static_cast<std::size_t>(elements) * type.bits / 8 + 127) / 64 * 64;
  };
  place(kQ, shape(rows_q, heads_q, dim), dtype);
  place(kK, shape(rows_k, heads_kv, dim), dtype);
  place(kV, shape(rows_k, heads_kv, dim_v), dtype);
  place(kOut, shape(rows_q, heads_q, dim_v), dtype);
  place(kLse, ragged ? std::vector{heads_q, rows_q} : std::vector{batch, heads_q, rows_q}, {kDLFloat, 32, 1});
  const std::pair<int, std::int64_t> offsets[] = {{kCuQ, rows_q}, {kCuK, rows_k}};
  for (const auto& [index, rows] : offsets) {
    place(index, {batch + 1}, {kDLInt, 32, 1});
    auto* values = static_cast<std::int32_t*>(tensors_[index].dl.data);
    values[0] = 0;
    for (std::int64_t b = 1; b <= batch; ++b)
      values[b] = b == batch ? static_cast<std::int32_t>(rows) : static_cast<std::int32_t>(rows * b / batch);
    tensors_[index].given = ragged;
  }
  tensors_[kLse].given = !(mode & 32);
  const unsigned options = mode & 64 ? bytes.byte() : 0;
  const DLDataType fp32{kDLFloat, 32, 1}, kBiases[] = {dtype, fp32, {6, 8, 1}};
  place(kAlibi, options & 1 ? std::vector{batch, heads_q} : std::vector{heads_q}, fp32);
  place(kSinks, {heads_q}, fp32);
  const auto size = [&](std::int64_t whole) { return options & 64 && bytes.below(2) ? 1 : whole; };
  place(kBias, {size(batch), size(heads_q), size(rows_q), size(rows_k)}, mode & 64 ? bytes.pick(kBiases) : fp32);
  place(kUsed, {batch}, {kDLInt, 32, 1});
  for (std::int64_t b = 0; b < batch; ++b)
    static_cast<std::int32_t*>(tensors_[kUsed].dl.data)[b] = options & 32 ? 1 : 0;
  tensors_[kAlibi].given = options & 2;
  tensors_[kSinks].given = options & 4;
  tensors_[kBias].given = options & 8 && !ragged;
  tensors_[kUsed].given = options & 16;
  if (options & 128) {
    args_.flags |= FLASHFIT_WINDOW;
    args_.window_left = static_cast<std::int64_t>(bytes.below(6)) - 1;
    args_.window_right = static_cast<std::int64_t>(bytes.below(6)) - 1;
    args_.softcap = static_cast<float>(bytes.below(3));
  }
  args_.struct_size = sizeof args_;
}

void AttentionInput::twist(Bytes& bytes, Arena& arena) {
  constexpr std::size_t kOfAll = 3;
  const std::size_t what = bytes.below(kTensorTwists + kOfAll + 12);
  if (what < kTensorTwists) return fuzz::twist(what, tensors_[bytes.below(kTensors)], tensors_, bytes, arena);
  if (what < kTensorTwists + kOfAll) return twist_all(what - kTensorTwists, bytes);
  constexpr const char* kVariants[] = {"", "fwd", "fwd_mma_fp16_d64_64x64_w4_s2_b4", "two\nlines\x1b[2J", "\xff\xfe"};
  constexpr std::uint32_t kSizes[] = {0, 4, 80, 87, 88, 89, 96, 104, 128, 160, 4096, 4097, ~0u};
  switch (what - kTensorTwists - kOfAll) {
    case 0:
      args_.flags = bytes.below(2) ? bytes.number<std::uint32_t>() : static_cast<std::uint32_t>(bytes.below(32));
      return;
    case 1: {
      const auto bits = bytes.number<std::uint32_t>();
      std::memcpy(&args_.softmax_scale, &bits, sizeof bits);
      return;
    }
    case 2:
      args_.stream = reinterpret_cast<void*>(bytes.number<std::uintptr_t>());
      return;
    case 3:
      (bytes.below(2) ? args_.reserved : args_.reserved_2) = bytes.number<std::uint32_t>();
      return;
    case 4:
      args_.struct_size = bytes.below(2) ? bytes.number<std::uint32_t>() : bytes.pick(kSizes);
      return;
    case 5:
      tail_.assign(bytes.below(64), bytes.byte());
      return;
    case 6:
      null_args_ = bytes.below(2) == 0;
      return;
    case 7:
      stands_for_[bytes.below(kTensors)] = static_cast<int>(bytes.below(kTensors));
      return;
    case 8:
      args_.workspace = wild(bytes);
      args_.workspace_bytes = static_cast<std::uint64_t>(bytes.odd_number());
      return;
    case 9:
      (bytes.below(2) ? args_.window_left : args_.window_right) = bytes.odd_number();
      return;
    case 10: {
      const auto bits = bytes.number<std::uint32_t>();
      std::memcpy(&args_.softcap, &bits, sizeof bits);
      return;
    }
    default:
      if (const std::size_t length = bytes.below(4) ? 0 : bytes.byte() * 64) {
        variant_.assign(length, static_cast<char>(bytes.byte() | 1));
      } else {
        variant_ = bytes.pick(kVariants);
      }
      args_.variant = variant_.c_str();
  }
}

/// What only together makes a sound call of odd numbers: the same size everywhere, one dtype, one device.
void AttentionInput::twist_all(std::size_t what, Bytes& bytes) {
  if (what == 0) {
    const std::size_t d = bytes.below(4), group = bytes.below(3);
    const std::int64_t size = bytes.odd_number(), stride = bytes.below(2) ? bytes.odd_number() : 0;
    constexpr int kGroups[3][5] = {{kQ, kK, kV, kOut, kLse}, {kQ, kOut, kLse, kQ, kQ}, {kK, kV, kK, kK, kK}};
    for (const int index : kGroups[group]) {
      InputTensor& t = tensors_[index];
      // lse is [batch, heads, rows]: its last two are the other way round.
      const std::size_t at = index != kLse ? d : t.shape.size() == 3 && d > 0 ? 3 - d : d;
      if (at >= t.shape.size()) continue;
      t.shape[at] = size;
      if (index != kLse && index != kOut) t.strides[at] = stride;
      if (index == kLse) t.strides = {}, t.null_strides = true;
    }
    return;
  }
  const DLDataType dtype = kDTypes[bytes.below(3)];
  const DLDevice device = {bytes.below(2) ? kDLCUDA : kDLCUDAHost, static_cast<int>(bytes.odd_number())};
  for (int index = 0; index < kTensors; ++index) {
    if (what == 1 && index <= kOut) tensors_[index].dl.dtype = dtype;
    if (what == 2) tensors_[index].dl.device = device;
  }
}

void AttentionInput::seal() {
  const DLTensor** slots[] = {&args_.q,
                              &args_.k,
                              &args_.v,
                              &args_.out,
                              &args_.lse,
                              &args_.cu_seqlens_q,
                              &args_.cu_seqlens_k,
                              &args_.alibi_slopes,
                              &args_.sinks,
                              &args_.bias,
                              &args_.seqused_k};
  for (InputTensor& t : tensors_) t.seal();
  for (int i = 0; i < kTensors; ++i) *slots[i] = tensors_[stands_for_[i]].argument();
  sealed_ = sealed(args_, tail_);
}

const flashfit_attention_args* AttentionInput::args() const {
  return null_args_ ? nullptr : reinterpret_cast<const flashfit_attention_args*>(sealed_.get());
}

}  // namespace flashfit::fuzz
