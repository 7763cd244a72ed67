#include "runtime/python/known_calls.hpp"

namespace flashfit::python {

std::uint64_t CallSignature::hash() const {
  std::uint64_t hash = 0;
  for (int i = 0; i < count_; ++i) hash = (hash ^ static_cast<std::uint64_t>(words_[i])) * 0x9E3779B97F4A7C15u;
  return hash >> 32;
}

KnownCalls::Found KnownCalls::find(const CallSignature& call) {
  const Known& known = known_[place(call)];
  Found found;
  if (busy_.test_and_set(std::memory_order_acquire)) return found;
  if (known.era == era_.load(std::memory_order_relaxed) && known.call == call) found = known.found;
  busy_.clear(std::memory_order_release);
  return found;
}

void KnownCalls::remember(const CallSignature& call, Found found) {
  Known& known = known_[place(call)];
  if (busy_.test_and_set(std::memory_order_acquire)) return;
  known = {era_.load(std::memory_order_relaxed), found, call};
  busy_.clear(std::memory_order_release);
}

void KnownCalls::forget() {
  era_.fetch_add(1, std::memory_order_relaxed);
  for (std::atomic<std::uint64_t>& count : counts_) count.store(0, std::memory_order_relaxed);
}

}  // namespace flashfit::python
