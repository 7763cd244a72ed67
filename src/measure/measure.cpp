#include "measure/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "measure/check.hpp"

namespace flashfit::measure {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr std::size_t kFewest = 5;

/// Warm-up ends when the medians of the last five samples and of the five before them are this close, or after
/// kMostWarmups times what was asked, or a quarter of the case's time.
constexpr double kStable = 0.02;
constexpr int kMostWarmups = 10;

bool stable(const std::vector<double>& us) {
  if (us.size() < 2 * kFewest) return false;
  const std::span<const double> all(us);
  const double last = median(all.last(kFewest)), before = median(all.last(2 * kFewest).first(kFewest));
  return std::abs(last - before) <= kStable * before;
}

Result<void> warm_up(Backend& b, Launch launch, const Options& o) {
  std::vector<double> us;
  const auto start = Clock::now();
  while (static_cast<int>(us.size()) < o.warmup * kMostWarmups && seconds_since(start) < o.seconds / 4) {
    if (static_cast<int>(us.size()) >= o.warmup && stable(us)) break;
    if (o.interrupted()) break;
    const Result<Sample> s = b.sample(launch);
    if (!s) return tl::unexpected(s.error());
    us.push_back(s->us);
  }
  return {};
}

Result<Times> time(Backend& b, Launch launch, const Options& o, std::vector<std::string>& throttled) {
  if (Result<void> r = warm_up(b, launch, o); !r) return tl::unexpected(r.error());
  Times times;
  const auto start = Clock::now();
  for (int i = 0; i < o.repeats && !o.interrupted(); ++i) {
    if (times.us.size() >= kFewest && seconds_since(start) > o.seconds) break;
    const Result<Sample> s = b.sample(launch);
    if (!s) return tl::unexpected(s.error());
    times.us.push_back(s->us);
    if (s->host_us > 0) times.host_us.push_back(s->host_us);
    if (s->clock_mhz > 0) times.clock_mhz.push_back(s->clock_mhz);
    for (const std::string& why : b.throttled())
      if (std::find(throttled.begin(), throttled.end(), why) == throttled.end()) throttled.push_back(why);
  }
  return times;
}

/// Fresh inputs, one call, fp64.
Result<Verdict> checked(const Case& c, const Placement& p, Backend& b, std::uint64_t seed) {
  if (Result<void> r = b.fill(seed); !r) return tl::unexpected(r.error());
  if (Result<void> r = b.call(); !r) return tl::unexpected(r.error());
  const Result<std::vector<std::byte>> results = b.results(false);
  if (!results) return tl::unexpected(results.error());
  return check(c, p, seed, *results, true);
}

/// What the last sample left: calls of one sample had the same inputs.
Result<Verdict> checked_sample(const Case& c, const Placement& p, Backend& b, std::uint64_t seed) {
  const Result<std::vector<std::byte>> first = b.results(false), last = b.results(true);
  if (!first) return tl::unexpected(first.error());
  if (!last) return tl::unexpected(last.error());
  Verdict verdict = check(c, p, seed, *first, false);
  if (verdict.message.empty() && *first != *last) verdict.message = "two calls of one sample give different results";
  return verdict;
}

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
T value_of(Result<T> r) {
  // A sound problem that this build cannot do yet, or this GPU: not wrong, and never passed.
  if (!r) throw Failure(r.error().code == Code::kMisfit ? "misfit: " + r.error().message : r.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

/// Keeps the check that came closer to its bound, or passed it by more.
void hold(Measured& m, const Verdict& v) {
  if (v.error * m.bound >= m.error * v.bound) {
    m.error = v.error;
    m.bound = v.bound;
  }
  if (!v.message.empty()) throw Failure(v.message);
}

}  // namespace

std::optional<Measured> measure(const Case& c, Backend& b, const Options& o) {
  Measured m;
  try {
    const Placement p = place(c);
    value_of(b.prepare(c, p));
    if (std::string variant = value_of(b.variant()); !variant.empty()) m.variant = std::move(variant);
    hold(m, value_of(checked(c, p, b, o.seed)));
    if (c.timed) {
      Times times = value_of(time(b, b.launch, o, m.throttled));
      if (o.interrupted()) return std::nullopt;
      hold(m, value_of(checked_sample(c, p, b, o.seed)));
      std::optional<Times> plain;
      if (b.launch == Launch::kGraph) plain = value_of(time(b, Launch::kPlain, o, m.throttled));
      if (o.interrupted()) return std::nullopt;
      hold(m, value_of(checked(c, p, b, o.seed + 1)));
      m.times = std::move(times);
      m.plain = std::move(plain);
    }
    m.correct = true;
  } catch (const Failure& failure) {
    m.message = failure.what();
  }
  if (o.interrupted()) return std::nullopt;
  return m;
}

std::optional<Noise> noise_of(const Case& c, Backend& b, const Options& o) {
  try {
    value_of(b.prepare(c, place(c)));
    value_of(b.fill(o.seed));
    value_of(warm_up(b, b.launch, o));
    std::vector<double> first, second;
    const auto start = Clock::now();
    for (int i = 0; i < o.repeats && (first.size() < kFewest || seconds_since(start) < o.seconds); ++i) {
      if (o.interrupted()) return std::nullopt;
      first.push_back(value_of(b.sample(b.launch)).us);
      second.push_back(value_of(b.sample(b.launch)).us);
      if (i % 2 == 1) std::swap(first.back(), second.back());
    }
    return Noise{c.name, static_cast<int>(first.size()), paired_ratio(first, second)};
  } catch (const Failure&) {
    return std::nullopt;  // its case says why
  }
}

}  // namespace flashfit::measure
