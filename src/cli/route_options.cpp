#include "cli/route_options.hpp"

#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/problem_options.hpp"

namespace flashfit::cli {

void RouteOptions::add_to(CLI::App& app) {
  app.add_option("--dtype", dtype, "of the logits: fp16, bf16 or fp32 (default fp32)")->type_name("TYPE");
  add_whole_number(app, "--tokens", tokens, 0, 1 << 30, fmt::format("tokens (default {})", tokens));
  add_whole_number(app, "--experts", experts, 1, kMaxExperts, "experts (default 8)");
  add_whole_number(app, "--top-k", top_k, 1, kMaxTopK, "experts of a token (default 2)");
  app.add_flag("--topk-first", topk_first, "the softmax is over the chosen experts, not over all");
  app.add_flag("--renormalize", renormalize, "a token's weights are divided by their sum");
}

RouteProblem RouteOptions::problem() const {
  if (top_k > experts) wrong("--top-k", std::to_string(top_k), fmt::format("must be at most --experts {}", experts));
  RouteProblem p{.tokens = tokens, .experts = static_cast<int>(experts), .top_k = static_cast<int>(top_k)};
  p.dtype = parse_dtype("--dtype", dtype);
  p.router = topk_first ? Router::kTopKSoftmax : Router::kSoftmax;
  p.renormalize = renormalize;
  return p;
}

}  // namespace flashfit::cli
