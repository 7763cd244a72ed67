// The experts' two products, a panel of weights for the rows of one expert. Compiled once for each Highway target,
// hence the toggled guard.
#if defined(FLASHFIT_CPU_EXPERTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_EXPERTS_INL
#undef FLASHFIT_CPU_EXPERTS_INL
#else
#define FLASHFIT_CPU_EXPERTS_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "runtime/cpu/activation-inl.hpp"
#include "runtime/cpu/experts_work.hpp"
#include "runtime/cpu/product-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Floats of a packed panel of weights, which share the L2 cache with a block of rows.
inline constexpr std::int64_t kPanelFloats = 1 << 16;

/// Rows of a panel of weights of that length: a multiple of 24, so that halves and tiles of 3 or 4 are whole.
constexpr std::int64_t panel_rows(std::int64_t length) {
  return std::clamp<std::int64_t>(kPanelFloats / padded(length) / 24 * 24, 24, kMostPanelRows / 24 * 24);
}

/// Where the parts of a thread's scratch lie, in floats.
struct ExpertsScratch {
  float *weights, *rows;    ///< [panel rows, length], [kRowBlock, length]: of the longer product
  float* product;           ///< [kRowBlock, kMostPanelRows]
  float *gate, *up, *bias;  ///< [kMostPanelRows] each
  std::size_t floats = 0;

  ExpertsScratch(const ExpertsProblem& p, float* base) {
    const auto take = [&](std::int64_t count) {
      float* const part = base == nullptr ? nullptr : base + floats;
      floats += static_cast<std::size_t>(padded(count));
      return part;
    };
    const std::int64_t h = padded(p.hidden), i = padded(p.intermediate);
    weights = take(std::max(panel_rows(h) * h, panel_rows(i) * i));
    rows = take(kRowBlock * h);
    product = take(kRowBlock * kMostPanelRows);
    gate = take(kMostPanelRows), up = take(kMostPanelRows), bias = take(kMostPanelRows);
  }
};

inline std::size_t experts_scratch_bytes(const ExpertsProblem& p) {
  return ExpertsScratch(p, nullptr).floats * sizeof(float);
}

inline void divide(ExpertsWork& work) {
  const ExpertsProblem& p = work.call.problem;
  work.h_row = padded(p.intermediate);
  work.features = panel_rows(p.hidden) / (has_gate(p.activation) ? 2 : 1);
  work.columns = panel_rows(p.intermediate);
  work.feature_tasks = (p.intermediate + work.features - 1) / work.features;
  work.column_tasks = (p.hidden + work.columns - 1) / work.columns;
}

/// An expert's matrix of weights: [outputs, inputs], however it lies.
inline Matrix weights_of(const ExpertsProblem& p, const void* first, std::int64_t expert_stride,
                         std::int64_t row_stride, std::int64_t expert) {
  const void* data = static_cast<const char*>(first) + expert * expert_stride * size_of(p.dtype);
  return p.transposed ? Matrix{data, p.dtype, 1, row_stride} : Matrix{data, p.dtype, row_stride, 1};
}

/// The outputs of some features, in the order in which they are packed: gates, then ups, or pairs.
struct Outputs {
  std::int64_t starts[2], count;  ///< of each run
  int runs;

  Outputs(const ExpertsProblem& p, std::int64_t feature, std::int64_t features) {
    const bool pairs = has_gate(p.activation) && p.gate_up == GateUp::kInterleaved;
    starts[0] = pairs ? 2 * feature : feature;
    starts[1] = p.intermediate + feature;
    count = pairs ? 2 * features : features;
    runs = has_gate(p.activation) && !pairs ? 2 : 1;
  }
  std::int64_t all() const { return runs * count; }
};

/// The rows [begin, begin + rows) of a segment's x in fp32, times their weights.
inline void load_rows(const ExpertsWork& work, std::int64_t begin, std::int64_t rows, float* to) {
  const std::int64_t columns = work.call.problem.hidden, stride = padded(columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    float* const row = to + r * stride;
    load_part(work.x, work.token == nullptr ? begin + r : work.token[begin + r], 0, columns, row);
    std::fill(row + columns, row + stride, 0.0f);
    if (work.x_weight == nullptr) continue;
    for (std::int64_t i = 0; i < columns; ++i) row[i] *= work.x_weight[begin + r];
  }
}

constexpr std::int64_t whole_tiles(std::int64_t columns) {
  return (columns + kTileColumns - 1) / kTileColumns * kTileColumns;
}

/// h of some features for all rows of a segment.
inline void first_product(const ExpertsWork& work, std::int64_t task, float* scratch) {
  const ExpertsCall& call = work.call;
  const ExpertsProblem& p = call.problem;
  const ExpertsScratch at(p, scratch);
  const Segment& segment = work.segments[task / work.feature_tasks];
  const std::int64_t feature = task % work.feature_tasks * work.features;
  const std::int64_t features = std::min(work.features, p.intermediate - feature);
  const Outputs outputs(p, feature, features);
  const Matrix w13 = weights_of(p, call.w13, call.w13_expert, call.w13_row, segment.expert);
  const Matrix b13{static_cast<const char*>(call.b13) + segment.expert * call.b13_expert * size_of(p.dtype), p.dtype};
  const std::int64_t length = padded(p.hidden), columns = whole_tiles(outputs.all());
  for (int run = 0; run < outputs.runs; ++run) {
    const bool last = run + 1 == outputs.runs;
    pack(w13, outputs.starts[run], outputs.count, p.hidden, last ? columns - run * outputs.count : outputs.count,
         at.weights + run * outputs.count * length);
    if (p.bias13) load_part(b13, 0, outputs.starts[run], outputs.count, at.bias + run * outputs.count);
  }
  const bool pairs = outputs.runs == 1 && has_gate(p.activation);
  for (std::int64_t begin = segment.begin; begin < segment.end; begin += kRowBlock) {
    const std::int64_t rows = std::min(kRowBlock, segment.end - begin);
    load_rows(work, begin, rows, at.rows);
    product(at.rows, rows, at.weights, columns, length, at.product, kMostPanelRows);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* const row = at.product + r * kMostPanelRows;
      if (p.bias13)
        for (std::int64_t i = 0; i < outputs.all(); ++i) row[i] += at.bias[i];
      const std::int64_t step = pairs ? 2 : 1, up = pairs ? 1 : outputs.runs == 2 ? features : 0;
      for (std::int64_t i = 0; i < features; ++i) at.gate[i] = row[i * step], at.up[i] = row[i * step + up];
      const std::int64_t whole = (features + kLanes - 1) / kLanes * kLanes;
      std::fill(at.gate + features, at.gate + whole, 0.0f);
      std::fill(at.up + features, at.up + whole, 0.0f);
      activate(p, at.gate, at.up, at.gate, whole);
      float* const h = work.h + (begin + r) * work.h_row;
      std::copy(at.gate, at.gate + features, h + feature);
      if (feature + features == p.intermediate) std::fill(h + p.intermediate, h + work.h_row, 0.0f);
    }
  }
}

/// y of some columns for all rows of a segment.
inline void second_product(const ExpertsWork& work, std::int64_t task, float* scratch) {
  const ExpertsCall& call = work.call;
  const ExpertsProblem& p = call.problem;
  const ExpertsScratch at(p, scratch);
  const Segment& segment = work.segments[task / work.column_tasks];
  const std::int64_t column = task % work.column_tasks * work.columns;
  const std::int64_t columns = std::min(work.columns, p.hidden - column), whole = whole_tiles(columns);
  pack(weights_of(p, call.w2, call.w2_expert, call.w2_row, segment.expert), column, columns, p.intermediate, whole,
       at.weights);
  const Matrix b2{static_cast<const char*>(call.b2) + segment.expert * call.b2_expert * size_of(p.dtype), p.dtype};
  std::fill(at.bias, at.bias + columns, 0.0f);
  if (p.bias2) load_part(b2, 0, column, columns, at.bias);
  for (std::int64_t begin = segment.begin; begin < segment.end; begin += kRowBlock) {
    const std::int64_t rows = std::min(kRowBlock, segment.end - begin);
    product(work.h + begin * work.h_row, rows, at.weights, whole, work.h_row, at.product, kMostPanelRows);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* const to = work.y + (begin + r) * p.hidden + column;
      const float* const from = at.product + r * kMostPanelRows;
      for (std::int64_t i = 0; i < columns; ++i) to[i] = from[i] + at.bias[i];
    }
  }
}

inline void combine(const float* const* rows, const float* weights, int parts, std::int64_t count, DType dtype,
                    void* to, float* scratch) {
  std::fill(scratch, scratch + count, 0.0f);
  for (int part = 0; part < parts; ++part) {
    const float* const row = rows[part];
    const float weight = weights[part];
    for (std::int64_t i = 0; i < count; ++i) scratch[i] += weight * row[i];
  }
  with_type(dtype,
            [&]<class T>(T /*element*/) { store_row(scratch, static_cast<T*>(to), static_cast<std::size_t>(count)); });
}

inline ExpertsKernels experts_kernels() {
  return {experts_scratch_bytes, divide, first_product, second_product, combine};
}

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
