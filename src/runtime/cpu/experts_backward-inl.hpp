// Gradients of the experts. Compiled once for each Highway target, hence the toggled guard.
#if defined(FLASHFIT_CPU_EXPERTS_BACKWARD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_EXPERTS_BACKWARD_INL
#undef FLASHFIT_CPU_EXPERTS_BACKWARD_INL
#else
#define FLASHFIT_CPU_EXPERTS_BACKWARD_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "runtime/cpu/experts-inl.hpp"
#include "runtime/cpu/experts_backward_work.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Where the parts of a thread's scratch lie, in floats.
struct BackwardScratch {
  float *weights, *turned;                    ///< panels of w13's and of w2's, or of w13's turned
  float *product, *dh;                        ///< [kRowBlock, kMostPanelRows] each
  float *bias, *gate, *up, *h, *by_g, *by_u;  ///< [kMostPanelRows] each
  float* sums;                                ///< [kOuterRows, the longest row]
  std::size_t floats = 0;

  BackwardScratch(const ExpertsProblem& p, float* base) {
    const auto take = [&](std::int64_t count) {
      float* const part = base == nullptr ? nullptr : base + floats;
      floats += static_cast<std::size_t>(padded(count));
      return part;
    };
    const std::int64_t h = padded(p.hidden), o = padded(p.first_outputs());
    weights = take(std::max(panel_rows(h) * h, panel_rows(o) * o)), turned = take(panel_rows(h) * h);
    product = take(kRowBlock * kMostPanelRows), dh = take(kRowBlock * kMostPanelRows);
    for (float** part : {&bias, &gate, &up, &this->h, &by_g, &by_u}) *part = take(kMostPanelRows);
    sums = take(kOuterRows * std::max(h, o));
  }
};

inline std::size_t backward_scratch_bytes(const ExpertsProblem& p) {
  return BackwardScratch(p, nullptr).floats * sizeof(float);
}

/// [inputs, outputs] of an expert's weights.
inline Matrix turned(const Matrix& m) { return {m.data, m.dtype, m.column_stride, m.row_stride}; }

/// A row of x in fp32, times its weight if that is x's, and of dout.
inline void gather_row(const ExpertsBackwardWork& work, std::int64_t row) {
  const std::int64_t columns = work.forward.call.problem.hidden, token = work.forward.token[row];
  const auto load = [&](const Matrix& from, float* to, bool weighed) {
    load_part(from, token, 0, columns, to);
    std::fill(to + columns, to + work.hidden, 0.0f);
    if (weighed)
      for (std::int64_t i = 0; i < columns; ++i) to[i] *= work.weight[row];
  };
  load(work.forward.x, work.x + row * work.hidden, work.on_input);
  load(work.dout, work.dy + row * work.hidden, false);
}

/// h and dz of some features for all rows of a segment, and what they add to the gradient of weights.
inline void backward_features(const ExpertsBackwardWork& work, std::int64_t task, float* scratch) {
  const ExpertsWork& forward = work.forward;
  const ExpertsCall& call = forward.call;
  const ExpertsProblem& p = call.problem;
  const BackwardScratch at(p, scratch);
  const Segment& segment = forward.segments[task / forward.feature_tasks];
  const std::int64_t block = task % forward.feature_tasks, feature = block * forward.features;
  const std::int64_t features = std::min(forward.features, p.intermediate - feature);
  const Outputs outputs(p, feature, features);
  const Matrix w13 = weights_of(p, call.w13, call.w13_expert, call.w13_row, segment.expert);
  const Matrix w2 = weights_of(p, call.w2, call.w2_expert, call.w2_row, segment.expert);
  const Matrix b13{static_cast<const char*>(call.b13) + segment.expert * call.b13_expert * size_of(p.dtype), p.dtype};
  const std::int64_t length = work.hidden, columns = whole_tiles(outputs.all()), whole = whole_tiles(features);
  for (int run = 0; run < outputs.runs; ++run) {
    const bool last = run + 1 == outputs.runs;
    pack(w13, outputs.starts[run], outputs.count, p.hidden, last ? columns - run * outputs.count : outputs.count,
         at.weights + run * outputs.count * length);
    if (p.bias13) load_part(b13, 0, outputs.starts[run], outputs.count, at.bias + run * outputs.count);
  }
  pack(turned(w2), feature, features, p.hidden, whole, at.turned);
  const bool pairs = outputs.runs == 1 && has_gate(p.activation), gated = has_gate(p.activation);
  const std::int64_t step = pairs ? 2 : 1, up = pairs ? 1 : outputs.runs == 2 ? features : 0;
  const std::int64_t vectors = (features + kLanes - 1) / kLanes * kLanes;
  for (std::int64_t begin = segment.begin; begin < segment.end; begin += kRowBlock) {
    const std::int64_t rows = std::min(kRowBlock, segment.end - begin);
    product(work.x + begin * length, rows, at.weights, columns, length, at.product, kMostPanelRows);
    product(work.dy + begin * length, rows, at.turned, whole, length, at.dh, kMostPanelRows);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* const z = at.product + r * kMostPanelRows;
      float* const dh = at.dh + r * kMostPanelRows;
      if (p.bias13)
        for (std::int64_t i = 0; i < outputs.all(); ++i) z[i] += at.bias[i];
      std::fill(at.gate, at.gate + vectors, 0.0f);
      std::fill(at.up, at.up + vectors, 0.0f);
      for (std::int64_t i = 0; i < features; ++i) at.gate[i] = z[i * step], at.up[i] = z[i * step + up];
      activate_backward(p, at.gate, at.up, at.h, at.by_g, at.by_u, vectors);
      float* const h = work.h + (begin + r) * work.intermediate;
      float* const dz = work.dz + (begin + r) * work.outputs;
      const float weight = work.on_input ? 1.0f : work.weight[begin + r];
      double share = 0;
      for (std::int64_t i = 0; i < features; ++i) {
        share += static_cast<double>(dh[i]) * at.h[i];
        h[feature + i] = weight * at.h[i];
        dh[i] *= weight;
        if (gated) dz[pairs ? 2 * (feature + i) : feature + i] = dh[i] * at.by_g[i];
        dz[pairs ? 2 * (feature + i) + 1 : gated ? p.intermediate + feature + i : feature + i] = dh[i] * at.by_u[i];
      }
      work.dweight[(begin + r) * forward.feature_tasks + block] = static_cast<float>(share);
      if (feature + features < p.intermediate) continue;
      std::fill(h + p.intermediate, h + work.intermediate, 0.0f);
      std::fill(dz + p.first_outputs(), dz + work.outputs, 0.0f);
    }
  }
}

/// The gradient of what w13 multiplies, some columns for all rows of a segment.
inline void backward_inputs(const ExpertsBackwardWork& work, std::int64_t task, float* scratch) {
  const ExpertsCall& call = work.forward.call;
  const ExpertsProblem& p = call.problem;
  const BackwardScratch at(p, scratch);
  const std::int64_t each = panel_rows(work.outputs), tasks = (p.hidden + each - 1) / each;
  const Segment& segment = work.forward.segments[task / tasks];
  const std::int64_t column = task % tasks * each, columns = std::min(each, p.hidden - column);
  const std::int64_t whole = whole_tiles(columns);
  const Matrix w13 = weights_of(p, call.w13, call.w13_expert, call.w13_row, segment.expert);
  pack(turned(w13), column, columns, p.first_outputs(), whole, at.weights);
  for (std::int64_t begin = segment.begin; begin < segment.end; begin += kRowBlock) {
    const std::int64_t rows = std::min(kRowBlock, segment.end - begin);
    product(work.dz + begin * work.outputs, rows, at.weights, whole, work.outputs, at.product, kMostPanelRows);
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(at.product + r * kMostPanelRows, columns, work.dx + (begin + r) * work.hidden + column);
  }
}

/// kOuterRows rows of a gradient of weights. Lanes are its columns; sums of 64 rows are added up, so that rounding
/// errors grow with the number of such sums.
inline void outer_product(const OuterProduct& p, std::int64_t first, float* scratch) {
  const Tag d;
  constexpr std::int64_t kChain = 64;
  constexpr int kVectors = std::max(16 / kLanes, 1), kRowsAtOnce = kLanes >= 16 ? 8 : 4;
  static_assert(kOuterRows % kRowsAtOnce == 0);
  const std::int64_t count = std::min(kOuterRows, p.left_columns - first), stride = padded(p.right_columns);
  std::fill(scratch, scratch + kOuterRows * stride, 0.0f);
  for (std::int64_t begin = 0; begin < p.rows; begin += kChain) {
    const std::int64_t end = std::min(begin + kChain, p.rows);
    for (std::int64_t column = 0; column < stride; column += kVectors * kLanes)
      for (std::int64_t a = 0; a < count; a += kRowsAtOnce) {
        Vec sums[kRowsAtOnce][kVectors];
        for (auto& row : sums)
          for (Vec& sum : row) sum = hn::Zero(d);
        for (std::int64_t row = begin; row < end; ++row) {
          const float* const left = p.left + row * p.left_stride + first + a;
          const float* const right = p.right + row * p.right_stride + column;
          Vec columns[kVectors];
          for (int v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, right + v * kLanes);
          for (int i = 0; i < kRowsAtOnce; ++i) {
            const Vec factor = hn::Set(d, left[a + i < count ? i : 0]);
            for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(factor, columns[v], sums[i][v]);
          }
        }
        for (int i = 0; i < kRowsAtOnce; ++i)
          for (int v = 0; v < kVectors; ++v) {
            float* const to = scratch + (a + i) * stride + column + v * kLanes;
            hn::StoreU(hn::Add(hn::LoadU(d, to), sums[i][v]), d, to);
          }
      }
  }
  with_type(p.dtype, [&]<class T>(T /*element*/) {
    for (std::int64_t a = 0; a < count; ++a)
      store_row(scratch + a * stride, static_cast<T*>(p.to) + (first + a) * p.to_row,
                static_cast<std::size_t>(p.right_columns));
  });
}

inline ExpertsBackwardKernels experts_backward_kernels() {
  return {backward_scratch_bytes, gather_row, backward_features, backward_inputs, outer_product};
}

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
