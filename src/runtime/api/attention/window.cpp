#include "runtime/api/attention/window.hpp"

#include "runtime/api/argument.hpp"
#include "runtime/api/refuse.hpp"

namespace flashfit::api {

Result<void> set_window(ForwardProblem& p, const Window& window) {
  for (const auto& [name, value] : {std::pair{"window_left", window.left}, {"window_right", window.right}}) {
    if (!window.given && value != 0)
      return refuse("{}: {} without FLASHFIT_WINDOW in flags; accepted: 0, or the flag", name, value);
    if (value < -1) return refuse("{}: {}; accepted: 0 or more, or -1 for no limit", name, value);
  }
  if (!window.given) return {};
  // What hides no key of any sequence is no limit. Of variable length the sequences of a batch are not asked: what runs
  // for one of them must not depend on the others.
  const std::int64_t most_left = p.variable_length ? kMaxSize : p.seqlen_k - 1,
                     most_right = p.variable_length ? kMaxSize : p.seqlen_q - 1;
  p.window_left = window.left >= most_left ? -1 : window.left;
  p.window_right = p.causal || window.right >= most_right ? -1 : window.right;
  if (p.window_right == 0) p.causal = true, p.window_right = -1;
  return {};
}

}  // namespace flashfit::api
