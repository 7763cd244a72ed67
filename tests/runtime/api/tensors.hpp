#pragma once
// Tensors and calls as users of the C API make them: memory with red zones, DLPack descriptors that a test may bend.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/base/half.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::test {

inline DLDataType dl_dtype(DType t) {
  if (t == DType::kBF16) return {kDLBfloat, 16, 1};
  return {kDLFloat, static_cast<std::uint8_t>(t == DType::kF16 ? 16 : 32), 1};
}

/// A tensor over memory of its own, on a 64-byte boundary, with red zones of kZone bytes on both sides.
class Tensor {
 public:
  Tensor(std::vector<std::int64_t> shape, DLDataType dtype, std::vector<std::int64_t> strides = {})
      : shape_(std::move(shape)), strides_(std::move(strides)) {
    if (strides_.empty()) {
      strides_.resize(shape_.size());
      std::int64_t step = 1;
      for (std::size_t i = shape_.size(); i-- > 0; step *= shape_[i]) strides_[i] = step;
    }
    std::int64_t last = 0;
    bool empty = false;
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      empty |= shape_[i] == 0;
      last += (shape_[i] - 1) * std::max<std::int64_t>(strides_[i], 0);
    }
    bytes_ = empty ? 0 : static_cast<std::size_t>(last + 1) * dtype.bits / 8;
    memory_.assign(bytes_ + 2 * kZone + 64, kRed);
    auto begin = reinterpret_cast<std::uintptr_t>(memory_.data()) + kZone;
    data_ = reinterpret_cast<unsigned char*>((begin + 63) / 64 * 64);
    dl = {data_, {kDLCPU, 0}, static_cast<int>(shape_.size()), dtype, shape_.data(), strides_.data(), 0};
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }
  std::vector<std::int64_t>& shape() { return shape_; }
  std::vector<std::int64_t>& strides() { return strides_; }

  /// Every element of the memory, those between rows too, drawn from a normal distribution.
  void fill_normal(DType t, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < bytes_ / size_of(t); ++i) set(t, i, normal(engine));
  }
  void set(DType t, std::size_t i, float x) {
    if (t == DType::kF16) as<f16>()[i] = from_float<f16>(x);
    if (t == DType::kBF16) as<bf16>()[i] = from_float<bf16>(x);
    if (t == DType::kF32) as<float>()[i] = x;
  }
  /// The element at an index of each dimension.
  float at(DType t, std::initializer_list<std::int64_t> index) {
    std::int64_t i = 0, d = 0;
    for (const std::int64_t x : index) i += x * strides_[d++];
    return t == DType::kF16 ? to_float(as<f16>()[i]) : t == DType::kBF16 ? to_float(as<bf16>()[i]) : as<float>()[i];
  }
  bool red_zones_intact() const {
    const auto red = [](const unsigned char* p, const unsigned char* end) {
      return std::all_of(p, end, [](unsigned char c) { return c == kRed; });
    };
    return red(memory_.data(), data_) && red(data_ + bytes_, memory_.data() + memory_.size());
  }
  bool untouched() const {
    return std::all_of(memory_.begin(), memory_.end(), [](unsigned char c) { return c == kRed; });
  }

  DLTensor dl;

 private:
  static constexpr std::size_t kZone = 256;
  static constexpr unsigned char kRed = 0xa5;
  std::vector<std::int64_t> shape_, strides_;
  std::vector<unsigned char> memory_;
  unsigned char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

inline constexpr DLDataType kBool{6, 8, 1};  // kDLBool, which headers of DLPack before 0.8 do not name

/// The tensors of one call and its arguments. Small by default: q [2, 3, 4, 8], k and v [2, 5, 2, 8].
struct Call {
  std::unique_ptr<Tensor> q, k, v, out, lse, cu_q, cu_k, alibi, sinks, bias, seqused_k;
  flashfit_attention_args args{};

  static Call dense(DType t = DType::kF16, std::int64_t batch = 2, std::int64_t seqlen_q = 3, std::int64_t seqlen_k = 5,
                    std::int64_t heads_q = 4, std::int64_t heads_kv = 2, std::int64_t head_dim = 8) {
    Call c;
    c.make(t, {batch, seqlen_q, heads_q, head_dim}, {batch, seqlen_k, heads_kv, head_dim}, {batch, heads_q, seqlen_q});
    return c;
  }
  static Call ragged(std::vector<std::int32_t> cu_q, std::vector<std::int32_t> cu_k, DType t = DType::kF16,
                     std::int64_t heads_q = 4, std::int64_t heads_kv = 2, std::int64_t head_dim = 8) {
    Call c;
    c.make(t, {cu_q.back(), heads_q, head_dim}, {cu_k.back(), heads_kv, head_dim}, {heads_q, cu_q.back()});
    c.cu_q = offsets(cu_q);
    c.cu_k = offsets(cu_k);
    c.args.cu_seqlens_q = &c.cu_q->dl;
    c.args.cu_seqlens_k = &c.cu_k->dl;
    return c;
  }
  /// All four options that are tensors, each of the call's own sizes; a bias only of a dense call.
  Call& with_options(DLDataType bias_type = dl_dtype(DType::kF32)) {
    const std::int64_t heads = q->shape()[q->shape().size() - 2], batch = cu_q ? cu_q->shape()[0] - 1 : q->shape()[0];
    const DLDataType fp32 = dl_dtype(DType::kF32);
    alibi = std::make_unique<Tensor>(std::vector{heads}, fp32);
    sinks = std::make_unique<Tensor>(std::vector{heads}, fp32);
    alibi->fill_normal(DType::kF32, 5), sinks->fill_normal(DType::kF32, 6);
    args.alibi_slopes = &alibi->dl, args.sinks = &sinks->dl;
    seqused_k = offsets(std::vector<std::int32_t>(static_cast<std::size_t>(batch), 1));
    args.seqused_k = &seqused_k->dl;
    if (cu_q) return *this;
    bias = std::make_unique<Tensor>(std::vector{batch, heads, q->shape()[1], k->shape()[1]}, bias_type);
    std::memset(bias->as<char>(), 0, bias->bytes());
    args.bias = &bias->dl;
    return *this;
  }
  std::vector<Tensor*> tensors() {
    std::vector<Tensor*> all;
    for (auto* t : {&q, &k, &v, &out, &lse, &cu_q, &cu_k, &alibi, &sinks, &bias, &seqused_k})
      if (*t) all.push_back(t->get());
    return all;
  }
  /// On a GPU only in name: for calls that are refused, or launched by a double.
  void pretend_gpu(int device = 0) {
    for (Tensor* t : tensors()) t->dl.device = {kDLCUDA, device};
  }
  flashfit_status run() { return flashfit_attention_forward(&args); }

 private:
  void make(DType t, const std::vector<std::int64_t>& q_shape, const std::vector<std::int64_t>& k_shape,
            const std::vector<std::int64_t>& lse_shape) {
    q = std::make_unique<Tensor>(q_shape, dl_dtype(t));
    k = std::make_unique<Tensor>(k_shape, dl_dtype(t));
    v = std::make_unique<Tensor>(k_shape, dl_dtype(t));
    out = std::make_unique<Tensor>(q_shape, dl_dtype(t));
    lse = std::make_unique<Tensor>(lse_shape, dl_dtype(DType::kF32));
    q->fill_normal(t, 1), k->fill_normal(t, 2), v->fill_normal(t, 3);
    args.struct_size = sizeof args;
    args.q = &q->dl, args.k = &k->dl, args.v = &v->dl, args.out = &out->dl, args.lse = &lse->dl;
  }
  static std::unique_ptr<Tensor> offsets(const std::vector<std::int32_t>& values) {
    auto t = std::make_unique<Tensor>(std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())},
                                      DLDataType{kDLInt, 32, 1});
    std::memcpy(t->as<std::int32_t>(), values.data(), values.size() * sizeof values[0]);
    return t;
  }
};

}  // namespace flashfit::test
