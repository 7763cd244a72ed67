#include "runtime/cpu/experts_backward.hpp"

#include <cstring>

#include "core/base/half.hpp"
#include "runtime/cpu/experts_rows.hpp"

namespace flashfit::cpu {
namespace {

constexpr std::int64_t kTokensPerTask = 16;

std::int64_t padded(std::int64_t count) { return (count + 15) / 16 * 16; }

float element(const Matrix& m, std::int64_t row, std::int64_t column) {
  const std::int64_t i = row * m.row_stride + column * m.column_stride;
  if (m.dtype == DType::kF16) return to_float(static_cast<const f16*>(m.data)[i]);
  if (m.dtype == DType::kBF16) return to_float(static_cast<const bf16*>(m.data)[i]);
  return static_cast<const float*>(m.data)[i];
}

std::byte* at(void* data, DType dtype, std::int64_t element) {
  return static_cast<std::byte*>(data) + element * size_of(dtype);
}

/// One call: its rows and what they need.
class Backward {
 public:
  Backward(const ExpertsCall& call, const void* dout, std::int64_t dout_row, const ExpertsGradients& gradients,
           const Kernel& kernel, int threads)
      : call_(call),
        gradients_(gradients),
        kernels_(kernel.experts_backward),
        combine_(kernel.experts.combine),
        sorted_(call, 0, p_.tokens),
        rows_(static_cast<std::int64_t>(sorted_.token.size())),
        workers_(useful_threads(3 * flops_of_a_row(p_) * static_cast<double>(rows_), threads),
                 std::max(kernels_.scratch_bytes(p_), p_.hidden * sizeof(float))),
        forward_{.call = call, .segments = sorted_.segments, .x = {}, .token = sorted_.token.data()},
        work_{.forward = forward_, .dout = {dout, p_.dtype, dout_row, 1}} {
    forward_.x = {call.x, p_.dtype, call.x_row, 1};
    kernel.experts.divide(forward_);
    work_.weight = sorted_.weight.data();
    work_.on_input = p_.weight_on == WeightOn::kInput;
    work_.hidden = padded(p_.hidden), work_.intermediate = padded(p_.intermediate);
    work_.outputs = padded(p_.first_outputs());
    const auto take = [&](std::int64_t columns) {
      memory_.push_back(floats(rows_ * columns));
      return memory_.back().get();
    };
    work_.x = take(work_.hidden), work_.dy = take(work_.hidden), work_.h = take(work_.intermediate);
    work_.dz = take(work_.outputs), work_.dx = take(work_.hidden), work_.dweight = take(forward_.feature_tasks);
  }

  void run() {
    const auto segments = static_cast<std::int64_t>(sorted_.segments.size());
    workers_.run(rows_, [&](auto row, float*) { kernels_.gather(work_, row); });
    workers_.run(segments * forward_.feature_tasks,
                 [&](auto task, float* scratch) { kernels_.features(work_, task, scratch); });
    if (gradients_.dx != nullptr || (work_.on_input && gradients_.dweights != nullptr)) {
      const std::int64_t each = std::clamp<std::int64_t>((1 << 16) / work_.outputs / 24 * 24, 24, 120);
      workers_.run(segments * ((p_.hidden + each - 1) / each),
                   [&](auto task, float* scratch) { kernels_.inputs(work_, task, scratch); });
    }
    weights_gradients();
    bias_gradients();
    workers_.run((p_.tokens + kTokensPerTask - 1) / kTokensPerTask, [&](std::int64_t task, float* scratch) {
      for (std::int64_t t = task * kTokensPerTask; t < std::min<std::int64_t>((task + 1) * kTokensPerTask, p_.tokens);
           ++t)
        token_gradients(t, scratch);
    });
  }

 private:
  /// Of every expert, also of those without rows.
  Segment segment_of(std::int64_t expert) const {
    for (const Segment& s : sorted_.segments)
      if (s.expert == expert) return s;
    return {expert, 0, 0};
  }

  /// A gradient [a, b] of each expert, where left's columns are a and right's b; turned: as [b, a].
  void gradient(void* to, std::int64_t expert_stride, std::int64_t row_stride, const float* left,
                std::int64_t left_stride, std::int64_t left_columns, const float* right, std::int64_t right_stride,
                std::int64_t right_columns) {
    if (to == nullptr) return;
    if (p_.transposed) {
      std::swap(left, right), std::swap(left_stride, right_stride), std::swap(left_columns, right_columns);
    }
    const std::int64_t each = (left_columns + kOuterRows - 1) / kOuterRows;
    workers_.run(p_.owned() * each, [&](std::int64_t task, float* scratch) {
      const Segment s = segment_of(task / each);
      const OuterProduct product{.left = left + s.begin * left_stride,
                                 .right = right + s.begin * right_stride,
                                 .left_stride = left_stride,
                                 .right_stride = right_stride,
                                 .rows = s.end - s.begin,
                                 .left_columns = left_columns,
                                 .right_columns = right_columns,
                                 .dtype = p_.dtype,
                                 .to = at(to, p_.dtype, s.expert * expert_stride),
                                 .to_row = row_stride};
      kernels_.outer(product, task % each * kOuterRows, scratch);
    });
  }

  void weights_gradients() {
    gradient(gradients_.dw13, gradients_.dw13_expert, gradients_.dw13_row, work_.dz, work_.outputs, p_.first_outputs(),
             work_.x, work_.hidden, p_.hidden);
    gradient(gradients_.dw2, gradients_.dw2_expert, gradients_.dw2_row, work_.dy, work_.hidden, p_.hidden, work_.h,
             work_.intermediate, p_.intermediate);
  }

  void bias_gradients() {
    const auto each = [&](void* to, std::int64_t stride, const float* rows, std::int64_t row_stride,
                          std::int64_t columns, const float* weight) {
      if (to == nullptr) return;
      workers_.run(p_.owned(), [&](std::int64_t expert, float* /*scratch*/) {
        const Segment s = segment_of(expert);
        for (std::int64_t i = 0; i < columns; ++i) {
          double sum = 0;
          for (std::int64_t r = s.begin; r < s.end; ++r)
            sum += static_cast<double>(rows[r * row_stride + i]) * static_cast<double>(weight ? weight[r] : 1.0F);
          store(static_cast<float>(sum), at(to, p_.dtype, expert * stride + i));
        }
      });
    };
    each(gradients_.db13, gradients_.db13_expert, work_.dz, work_.outputs, p_.first_outputs(), nullptr);
    each(gradients_.db2, gradients_.db2_expert, work_.dy, work_.hidden, p_.hidden,
         work_.on_input ? nullptr : work_.weight);
  }

  void store(float value, std::byte* to) const {
    const auto put = [&](auto element) { std::memcpy(to, &element, sizeof element); };
    if (p_.dtype == DType::kF16)
      put(from_float<f16>(value));
    else if (p_.dtype == DType::kBF16)
      put(from_float<bf16>(value));
    else
      put(value);
  }

  /// dx of a token, in the order of its ranks, and the gradients of its weights.
  void token_gradients(std::int64_t token, float* scratch) const {
    const float* rows[kMostChosen];
    float weights[kMostChosen];
    int parts = 0;
    for (int k = 0; k < p_.top_k; ++k) {
      const std::int64_t choice = token * p_.top_k + k, row = sorted_.row[choice];
      if (gradients_.dweights != nullptr)
        gradients_.dweights[choice] = row < 0 ? 0 : static_cast<float>(weight_gradient(token, row));
      if (row < 0) continue;
      rows[parts] = work_.dx + row * work_.hidden;
      weights[parts++] = work_.on_input ? sorted_.weight[row] : 1;
    }
    if (gradients_.dx != nullptr)
      combine_(rows, weights, parts, p_.hidden, p_.dtype, at(gradients_.dx, p_.dtype, token * gradients_.dx_row),
               scratch);
  }

  double weight_gradient(std::int64_t token, std::int64_t row) const {
    double sum = 0;
    if (work_.on_input) {
      for (std::int64_t i = 0; i < p_.hidden; ++i)
        sum +=
            static_cast<double>(element(forward_.x, token, i)) * static_cast<double>(work_.dx[row * work_.hidden + i]);
      return sum;
    }
    for (std::int64_t i = 0; i < forward_.feature_tasks; ++i)
      sum += static_cast<double>(work_.dweight[row * forward_.feature_tasks + i]);
    if (!p_.bias2) return sum;
    const Matrix b2{at(const_cast<void*>(call_.b2), p_.dtype, expert_of(row) * call_.b2_expert), p_.dtype, 0, 1};
    for (std::int64_t i = 0; i < p_.hidden; ++i)
      sum += static_cast<double>(element(work_.dout, token, i)) * static_cast<double>(element(b2, 0, i));
    return sum;
  }

  std::int64_t expert_of(std::int64_t row) const {
    for (const Segment& s : sorted_.segments)
      if (row >= s.begin && row < s.end) return s.expert;
    return 0;
  }

  const ExpertsCall& call_;
  const ExpertsProblem& p_ = call_.problem;
  const ExpertsGradients& gradients_;
  const ExpertsBackwardKernels& kernels_;
  decltype(ExpertsKernels::combine) combine_;
  const Sorted sorted_;
  const std::int64_t rows_;
  const Workers workers_;
  ExpertsWork forward_;
  ExpertsBackwardWork work_;
  std::vector<Floats> memory_;
};

}  // namespace

Result<void> experts_backward_on(const ExpertsCall& call, const void* dout, std::int64_t dout_row,
                                 const ExpertsGradients& gradients, const Kernel& kernel, int threads) {
  return with_memory(call.problem, [&] { Backward(call, dout, dout_row, gradients, kernel, threads).run(); });
}

Result<void> experts_backward(const ExpertsCall& call, const void* dout, std::int64_t dout_row,
                              const ExpertsGradients& gradients) {
  return experts_backward_on(call, dout, dout_row, gradients, kernels().front(), default_threads());
}

}  // namespace flashfit::cpu
