#pragma once
// A call of flashfit_attention_forward as a fuzzer's input describes it: a sound one, then bent by any number of
// twists.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tensor_input.hpp"

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
  void lay_out(Bytes& bytes, Arena& arena);
  void twist(Bytes& bytes, Arena& arena);
  void twist_all(std::size_t what, Bytes& bytes);
  void seal();

  std::array<InputTensor, kTensors> tensors_;
  std::array<int, kTensors> stands_for_{};  ///< which descriptor an argument points to
  flashfit_attention_args args_{};
  std::string variant_;
  bool null_args_ = false;
  std::vector<std::uint8_t> tail_;  ///< what a newer caller set past the struct
  std::unique_ptr<std::uint8_t[]> sealed_;
};

}  // namespace flashfit::fuzz
