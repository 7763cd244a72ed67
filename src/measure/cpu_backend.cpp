#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "measure/backend.hpp"
#include "measure/call.hpp"
#include "measure/filling.hpp"

namespace flashfit::measure {
namespace {

using Clock = std::chrono::steady_clock;

// A sample holds as many calls as fill this, so that reading the clock does not count.
constexpr double kSampleUs = 200;

struct FreeAligned {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{256}); }
};

struct State {
  Case c;
  Placement p;
  std::unique_ptr<std::byte[], FreeAligned> memory;
  std::unique_ptr<Call> call;
  int calls = 0;  ///< of a sample; 0: not known yet
};

Result<void> prepare(State& s, const Case& c, const Placement& p) {
  s = State{};
  s.c = c;
  s.p = p;
  s.memory.reset(static_cast<std::byte*>(::operator new[](p.bytes, std::align_val_t{256}, std::nothrow)));
  if (!s.memory) return fail(Code::kOutOfMemory, "host memory for the tensors");
  s.call = std::make_unique<Call>(c, p, s.memory.get(), DLDevice{kDLCPU, 0});
  return {};
}

void fill(State& s, std::uint64_t seed) {
  std::memset(s.memory.get(), kPoison, s.p.bytes);
  fill_on_host(s.c, s.p, seed, s.memory.get());
}

Result<double> microseconds(State& s, int calls) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i)
    if (Result<void> r = s.call->run(false); !r) return tl::unexpected(r.error());
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / calls;
}

Result<Sample> sample(State& s) {
  std::memset(s.memory.get() + s.p.results, kPoison, s.p.bytes - s.p.results);
  if (s.calls == 0) {
    const Result<double> once = microseconds(s, 1);
    if (!once) return tl::unexpected(once.error());
    s.calls = std::clamp(static_cast<int>(std::lround(kSampleUs / std::max(*once, 0.01))), 1, 1000);
  }
  return microseconds(s, s.calls).map([](double us) { return Sample{.us = us}; });
}

}  // namespace

Backend cpu_backend() {
  const auto s = std::make_shared<State>();
  Backend b;
  b.launch = Launch::kHost;
  b.prepare = [s](const Case& c, const Placement& p) { return prepare(*s, c, p); };
  b.fill = [s](std::uint64_t seed) -> Result<void> {
    fill(*s, seed);
    return {};
  };
  b.call = [s] { return s->call->run(true); };
  b.results = [s](bool) -> Result<std::vector<std::byte>> {
    return std::vector<std::byte>(s->memory.get() + s->p.results, s->memory.get() + s->p.bytes);
  };
  b.sample = [s](Launch) { return sample(*s); };
  b.variant = []() -> Result<std::string> { return std::string(); };
  b.throttled = [] { return std::vector<std::string>(); };
  return b;
}

}  // namespace flashfit::measure
