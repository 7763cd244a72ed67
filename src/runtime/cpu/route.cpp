#include "runtime/cpu/route.hpp"

#include <algorithm>

#include "runtime/cpu/parallel.hpp"

namespace flashfit::cpu {
namespace {

// A task's tokens: enough that a thread's share outweighs its waking.
constexpr std::int64_t kLogitsPerTask = 1 << 15;

}  // namespace

void route_on(const RouteCall& call, const Kernel& kernel, int threads) {
  const RouteProblem& p = call.problem;
  struct Context {
    const RouteCall& call;
    const Kernel& kernel;
    std::int64_t tokens;  ///< of a task
  } context{call, kernel, std::max<std::int64_t>(kLogitsPerTask / p.experts, 1)};
  const std::int64_t tasks = (p.tokens + context.tokens - 1) / context.tokens;
  Pool::run(
      tasks, static_cast<int>(std::min<std::int64_t>(threads, tasks)),
      [](void* opaque, std::int64_t task, int /*slot*/) {
        const Context& c = *static_cast<Context*>(opaque);
        const std::int64_t begin = task * c.tokens;
        c.kernel.route(c.call, begin, std::min(begin + c.tokens, c.call.problem.tokens));
      },
      &context);
}

void route(const RouteCall& call) { route_on(call, kernels().front(), default_threads()); }

}  // namespace flashfit::cpu
