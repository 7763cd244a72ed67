#include "emulated.hpp"
#include "kernels/attention/forward/plan/candidates.hpp"

namespace flashfit::testing {

std::vector<ForwardCase> served_cases(const ForwardConfig& c) {
  std::vector<ForwardCase> cases;
  const auto add = [&](std::vector<ForwardCase> more, std::int64_t head_dim_v, std::size_t each) {
    for (std::size_t i = 0; i < more.size(); i += each) {
      if (head_dim_v != 0) more[i].head_dim_v = head_dim_v;
      if (serves(c, problem_of(more[i]))) cases.push_back(std::move(more[i]));
    }
  };
  add(forward_cases(c.dtype, c.head_dim, Size::kSmall), c.head_dim_v, 1);
  add(listed_cases("hard", c.dtype, c.head_dim), 0, 1);
  add(option_cases(c.dtype, c.head_dim), 0, 1);
  add(option_cases(c.dtype, c.head_dim_v), 0, 3);
  for (const int narrower : {8, 24}) add(forward_cases(c.dtype, c.head_dim - narrower, Size::kSmall), c.head_dim_v, 9);
  for (const int narrower : {1, 7, 30}) add(forward_cases(c.dtype, c.head_dim - narrower, Size::kSmall), 9, 9);
  return cases;
}

}  // namespace flashfit::testing
