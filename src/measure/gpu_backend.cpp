#include "measure/gpu_backend.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "core/gpu/device.hpp"
#include "measure/call.hpp"
#include "measure/gpu_fill.hpp"
#include "measure/kernel_params.hpp"

namespace flashfit::measure {
namespace {

// A sample holds as many calls as fill this, so that the events' resolution does not count.
constexpr double kSampleUs = 500;
constexpr int kMostCalls = 512;
constexpr double kCaches = 3;  // the sets of inputs together, in sizes of the L2

struct State {
  std::shared_ptr<GpuBed> bed;
  std::shared_ptr<Nvml> nvml;
  Case c;
  Placement p;
  std::byte* memory = nullptr;
  std::byte* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  std::byte* clock = nullptr;
  std::vector<std::unique_ptr<Call>> calls;  ///< one a set of inputs
  int calls_a_sample = 0;                    ///< 0: not captured yet
  std::size_t next = 0;                      ///< set of the next plain launch
};

/// Runs the steps until one fails.
template <class... Steps>
Result<void> each(Steps... steps) {
  Result<void> r;
  static_cast<void>(((r = steps(), r.has_value()) && ...));
  return r;
}

/// One for all sets, whose calls follow one another, as a framework's allocator would give.
Result<void> find_workspace(State& s) {
  const Result<std::size_t> bytes = s.calls[0]->workspace_bytes();
  if (!bytes) return tl::unexpected(bytes.error());
  s.workspace_bytes = *bytes;
  if (*bytes == 0) return {};
  const Result<std::byte*> memory = s.bed->allocate(*bytes);
  if (!memory) return tl::unexpected(memory.error());
  s.workspace = *memory;
  for (const auto& call : s.calls) call->use_workspace(*memory, *bytes);
  return {};
}

/// What an earlier call left there would hide that one reads what it did not write.
Result<void> poison_workspace(State& s) {
  return s.workspace_bytes ? s.bed->poison(s.workspace, s.workspace_bytes) : Result<void>{};
}

Result<void> prepare(State& s, const Case& c, const Placement& p) {
  s.calls.clear();
  s.bed->release();
  s.c = c;
  s.p = p;
  s.calls_a_sample = 0;
  s.next = 0;
  const Result<std::size_t> free = s.bed->free_bytes();
  if (!free) return tl::unexpected(free.error());
  const double wanted = std::ceil(kCaches * static_cast<double>(s.bed->l2_bytes()) / static_cast<double>(p.bytes));
  const double most = std::max(1.0, static_cast<double>(*free) * 0.8 / static_cast<double>(p.bytes));
  const auto sets = c.timed ? static_cast<std::size_t>(std::clamp(std::min(wanted, most), 1.0, double{kMostCalls})) : 1;
  const Result<std::byte*> clock = s.bed->allocate(2 * sizeof(uint64));
  if (!clock) return tl::unexpected(clock.error());
  s.clock = *clock;
  const Result<std::byte*> memory = s.bed->allocate(sets * p.bytes);
  if (!memory) return tl::unexpected(memory.error());
  s.memory = *memory;
  for (std::size_t i = 0; i < sets; ++i)
    s.calls.push_back(std::make_unique<Call>(c, p, s.memory + i * p.bytes, DLDevice{kDLCUDA, 0}));
  return find_workspace(s);
}

/// The first set anew, and copies of it in the others.
Result<void> fill(State& s, std::uint64_t seed) {
  Result<void> r = each([&] { return s.bed->poison(s.memory, s.p.bytes); }, [&] { return poison_workspace(s); },
                        [&] { return fill_on_gpu(*s.bed, s.c, s.p, seed, s.memory); });
  for (std::size_t i = 1; i < s.calls.size() && r; ++i) r = s.bed->copy(s.memory + i * s.p.bytes, s.memory, s.p.bytes);
  return r ? s.bed->wait() : r;
}

Result<std::vector<std::byte>> results(State& s, bool last) {
  std::vector<std::byte> bytes(s.p.bytes - s.p.results);
  const std::byte* const set = s.memory + (last ? s.calls.size() - 1 : 0) * s.p.bytes;
  if (Result<void> r = s.bed->download(bytes, set + s.p.results); !r) return tl::unexpected(r.error());
  return bytes;
}

Result<void> queue(State& s, int calls) {
  for (int i = 0; i < calls; ++i)
    if (Result<void> r = s.calls[static_cast<std::size_t>(i) % s.calls.size()]->run(false, s.bed->stream()); !r)
      return r;
  return {};
}

/// A graph of every set at least once, and of calls that fill a sample.
Result<void> capture(State& s) {
  const auto sets = static_cast<int>(s.calls.size());
  double once = 0;
  for (int i = 0; i < 2; ++i) {
    const Result<double> us = s.bed->time([&] { return queue(s, sets); });
    if (!us) return tl::unexpected(us.error());
    once = *us / sets;
  }
  const int wanted = static_cast<int>(std::clamp(std::round(kSampleUs / std::max(once, 0.5)), 1.0, double{kMostCalls}));
  const int calls = std::max(1, (wanted + sets - 1) / sets) * sets;
  if (Result<void> r = s.bed->capture([&] { return queue(s, calls); }); !r) return r;
  s.calls_a_sample = calls;
  return {};
}

Result<void> poison_results(State& s) {
  for (std::size_t i = 0; i < s.calls.size(); ++i)
    if (Result<void> r = s.bed->poison(s.memory + i * s.p.bytes + s.p.results, s.p.bytes - s.p.results); !r) return r;
  if (Result<void> r = poison_workspace(s); !r) return r;
  return s.bed->wait();
}

/// What an SM's clock is now, that is, what it was: clocks change in milliseconds.
Result<double> clock_mhz(State& s) {
  const ClockParams params{.out = reinterpret_cast<uint64*>(s.clock), .nanoseconds = 10000};
  if (Result<void> r = s.bed->launch("clock", 1, 32, &params); !r) return tl::unexpected(r.error());
  uint64 counted[2] = {};
  if (Result<void> r = s.bed->download(std::as_writable_bytes(std::span(counted)), s.clock); !r)
    return tl::unexpected(r.error());
  return counted[1] == 0 ? 0 : static_cast<double>(counted[0]) * 1e3 / static_cast<double>(counted[1]);
}

Result<Sample> sample(State& s, Launch launch) {
  if (s.calls_a_sample == 0)
    if (Result<void> r = capture(s); !r) return tl::unexpected(r.error());
  if (Result<void> r = poison_results(s); !r) return tl::unexpected(r.error());
  Sample taken;
  Result<double> us = 0.0;
  if (launch == Launch::kGraph) {
    us = s.bed->time([&] { return s.bed->replay(); });
    taken.us = us.value_or(0) / s.calls_a_sample;
  } else {
    Call& call = *s.calls[s.next++ % s.calls.size()];
    us = s.bed->time([&] {
      const auto begin = std::chrono::steady_clock::now();
      Result<void> r = call.run(false, s.bed->stream());
      taken.host_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
      return r;
    });
    taken.us = us.value_or(0);
  }
  if (!us) return tl::unexpected(us.error());
  const Result<double> mhz = clock_mhz(s);
  if (!mhz) return tl::unexpected(mhz.error());
  taken.clock_mhz = *mhz;
  return taken;
}

}  // namespace

Backend gpu_backend(const std::shared_ptr<GpuBed>& bed, const std::shared_ptr<Nvml>& nvml) {
  const auto s = std::make_shared<State>();
  s->bed = bed;
  s->nvml = nvml;
  Backend b;
  b.launch = Launch::kGraph;
  b.l2_flushed = true;
  b.prepare = [s](const Case& c, const Placement& p) { return prepare(*s, c, p); };
  b.fill = [s](std::uint64_t seed) { return fill(*s, seed); };
  b.call = [s] {
    return each([&] { return s->calls[0]->run(true, s->bed->stream()); }, [&] { return s->bed->wait(); });
  };
  b.results = [s](bool last) { return results(*s, last); };
  b.sample = [s](Launch launch) { return sample(*s, launch); };
  b.variant = [s] { return planned(s->c, 0).map([](const flashfit_plan& p) { return std::string(p.variant); }); };
  b.throttled = [s] { return s->nvml->throttled(); };
  return b;
}

nlohmann::ordered_json gpu_json(const GpuBed& bed, const Nvml& nvml) {
  const Gpu& g = bed.gpu();
  const Machine machine = this_machine();
  const auto known = [](const std::optional<double>& x) {
    return x ? nlohmann::ordered_json(*x) : nlohmann::ordered_json();
  };
  return {{"name", g.name},
          {"compute_capability", g.cc.str()},
          {"sms", g.sms},
          {"memory_bytes", bed.memory_bytes()},
          {"l2_bytes", bed.l2_bytes()},
          {"driver",
           machine.driver_version.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(machine.driver_version)},
          {"driver_cuda", std::to_string(machine.cuda / 1000) + "." + std::to_string(machine.cuda % 1000 / 10)},
          {"clock_max_mhz", known(nvml.sm_clock_max_mhz())},
          {"memory_clock_max_mhz", known(nvml.memory_clock_max_mhz())},
          {"power_limit_w", known(nvml.power_limit_w())}};
}

}  // namespace flashfit::measure
