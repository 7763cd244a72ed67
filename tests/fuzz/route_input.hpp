#pragma once
// A call of flashfit_moe_route, and a question to flashfit_moe_route_explain_json, as a fuzzer's input describes them.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tensor_input.hpp"

namespace flashfit::fuzz {

/// A sound call, then bent by any number of twists.
class RouteInput {
 public:
  /// Lays tensors out in `arena`, whose content it resets.
  RouteInput(Bytes& bytes, Arena& arena);

  /// NULL, or memory of exactly as many bytes as a library of this version may read.
  const flashfit_moe_route_args* args() const;

 private:
  enum TensorIndex { kLogits, kWeights, kIds, kTensors };

  void lay_out(Bytes& bytes, Arena& arena);
  void twist(Bytes& bytes, Arena& arena);

  std::array<InputTensor, kTensors> tensors_;
  std::array<int, kTensors> stands_for_{kLogits, kWeights, kIds};  ///< which descriptor an argument points to
  flashfit_moe_route_args args_{};
  std::string variant_;
  bool null_args_ = false;
  std::vector<std::uint8_t> tail_;  ///< what a newer caller set past the struct
  std::unique_ptr<std::uint8_t[]> sealed_;
};

class RouteExplainInput {
 public:
  explicit RouteExplainInput(Bytes& bytes);

  const flashfit_moe_route_explain_args* args() const {
    return reinterpret_cast<const flashfit_moe_route_explain_args*>(sealed_.get());
  }
  /// Whether it must be answered; a variant may be refused for reasons that only the table knows.
  bool is_sound() const { return may_be_answered() && !args_.variant; }
  /// Whether an answer is right; a variant's name is not looked at.
  bool may_be_answered() const;

 private:
  flashfit_moe_route_explain_args args_{};
  std::unique_ptr<std::uint8_t[]> sealed_;
};

}  // namespace flashfit::fuzz
