#include "kernels/moe/experts/token_rows.hpp"

#include <fmt/format.h>

#include "core/launch/one_image.hpp"

namespace flashfit {
namespace {

ExpertsRowsParams params_of(const TokenRowsCall& call, ExpertsRowsStep step) {
  ExpertsRowsParams p{};
  p.step = step;
  p.rows = static_cast<int>(call.problem.tokens * call.problem.top_k);
  p.places = const_cast<int*>(call.places);  // which these steps only read
  p.top_k = call.problem.top_k;
  p.columns = call.problem.columns;
  return p;
}

}  // namespace

Result<const Image*> plan_token_rows(DType dtype, const Gpu& gpu, CudaVersion driver, std::span<const Image> images,
                                     bool ptx_only) {
  return plan_one_image(fmt::format("rows of tokens in {}", name_of(dtype)), images_of(kExpertsOperation, images),
                        {gpu, driver, ptx_only}, [&](const Image& image) {
                          return image.variant->family == &kExpertsRowsFamily &&
                                 experts_rows_variant_of(*image.variant).config.dtype == dtype;
                        });
}

Steps token_rows_steps(const Image& image, const TokenRows& p) {
  Steps steps;
  if (p.tokens > 0) steps.add({.image = &image, .grid = {.x = p.tokens}});
  return steps;
}

ExpertsRowsParams gather_params(const TokenRowsCall& call) {
  ExpertsRowsParams p = params_of(call, ExpertsRowsStep::kGather);
  p.x = call.tokens;
  p.x_row = call.tokens_row;
  p.gathered = call.rows;
  return p;
}

ExpertsRowsParams sum_params(const TokenRowsCall& call) {
  ExpertsRowsParams p = params_of(call, ExpertsRowsStep::kSum);
  p.weights = call.weights;
  p.y = call.rows;
  p.out = call.tokens;
  p.out_row = call.tokens_row;
  return p;
}

}  // namespace flashfit
