#pragma once
// A call of flashfit_attention_forward as a fuzzer's input describes it: a sound one, then bent by any number of
// twists.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "arena.hpp"
#include "bytes.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::fuzz {

/// The tensors' order in the args.
enum TensorIndex { kQ, kK, kV, kOut, kLse, kCuQ, kCuK, kAlibi, kSinks, kBias, kUsed, kTensors };

class AttentionInput {
 public:
  /// Lays tensors out in `arena`, whose content it resets.
  AttentionInput(Bytes& bytes, Arena& arena);

  /// NULL, or memory of exactly as many bytes as a library of this version may read.
  const flashfit_attention_args* args() const;

 private:
  struct Tensor {
    DLTensor dl;
    std::vector<std::int64_t> shape, strides;
    bool given = true, null_strides = false, null_shape = false;
    int ndim = 0;  ///< what the descriptor says; shape and strides have no more entries than it
  };

  void lay_out(Bytes& bytes, Arena& arena);
  void twist(Bytes& bytes, Arena& arena);
  void twist_tensor(std::size_t what, Tensor& t, Bytes& bytes, Arena& arena);
  void twist_all(std::size_t what, Bytes& bytes);
  void seal();
  Tensor& any(Bytes& bytes) { return tensors_[bytes.below(kTensors)]; }

  std::array<Tensor, kTensors> tensors_;
  std::array<int, kTensors> stands_for_{};  ///< which descriptor an argument points to
  flashfit_attention_args args_{};
  std::string variant_;
  bool null_args_ = false;
  std::vector<std::uint8_t> tail_;  ///< what a newer caller set past the struct
  std::unique_ptr<std::uint8_t[]> sealed_;
};

}  // namespace flashfit::fuzz
