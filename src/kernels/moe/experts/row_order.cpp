#include "kernels/moe/experts/row_order.hpp"

#include <algorithm>

#include "kernels/moe/experts/token_rows.hpp"

namespace flashfit {
namespace {

/// One at least: where experts begin is written without tokens, too.
int64 chunks_of(const RowOrder& p) { return std::max<int64>((p.choices() + kSortChunk - 1) / kSortChunk, 1); }

}  // namespace

int64 row_order_workspace(const RowOrder& p) { return chunks_of(p) > 1 ? chunks_of(p) * p.experts * 4 : 0; }

/// Any dtype's sorts alike, and each GPU has one of fp16.
Result<const Image*> plan_row_order(const Gpu& gpu, CudaVersion driver, std::span<const Image> images, bool ptx_only) {
  return plan_token_rows(DType::kF16, gpu, driver, images, ptx_only);
}

Steps row_order_steps(const Image& image, const RowOrder& p) {
  Steps steps;
  const Grid grid{.x = chunks_of(p)};
  if (grid.x > 1) steps.add({.image = &image, .grid = grid});
  steps.add({.image = &image, .grid = grid});
  return steps;
}

RowOrderArguments::RowOrderArguments(const RowOrderCall& call) {
  const RowOrder& p = call.problem;
  sort_step_ = {};
  sort_step_.step = ExpertsRowsStep::kSort;
  sort_step_.ids = call.ids;
  sort_step_.rows = static_cast<int>(p.choices());
  sort_step_.here.low = p.low;
  sort_step_.here.owned = p.experts;
  sort_step_.chunks = static_cast<int>(chunks_of(p));
  sort_step_.tile_rows = Divisor(1);
  sort_step_.counts = static_cast<int*>(call.workspace);
  sort_step_.choices = call.choices;
  sort_step_.places = call.places;
  sort_step_.begins = call.offsets;
  sort_step_.top_k = p.top_k;
  count_step_ = sort_step_;
  count_step_.step = ExpertsRowsStep::kCount;
  if (sort_step_.chunks > 1) pointers_[count_++] = &count_step_;
  pointers_[count_++] = &sort_step_;
}

}  // namespace flashfit
