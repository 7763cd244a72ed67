#include "emu/order.hpp"

#include <algorithm>

namespace flashfit::emu {

void Clock::reach(Moment m) {
  const auto agent = static_cast<std::size_t>(m.agent);
  if (epochs_.size() <= agent) epochs_.resize(agent + 1);
  epochs_[agent] = std::max(epochs_[agent], m.epoch);
}

void Clock::join(const Clock& other) {
  if (epochs_.size() < other.epochs_.size()) epochs_.resize(other.epochs_.size());
  std::uint32_t* const to = epochs_.data();
  const std::uint32_t* const from = other.epochs_.data();
  for (std::size_t i = 0; i < other.epochs_.size(); ++i) to[i] = std::max(to[i], from[i]);
}

bool Clock::reached(const Clock& other) const {
  for (std::size_t i = 0; i < other.epochs_.size(); ++i)
    if (at(static_cast<int>(i)) < other.epochs_[i]) return false;
  return true;
}

Order::Order(int threads) : knowledge_(static_cast<std::size_t>(threads)), now_(knowledge_.size()), agents_(threads) {
  for (int t = 0; t < threads; ++t) tick(t);
}

// What a thread does after it told others, or fenced, is at a later moment than
// what it told or fenced.
void Order::tick(int thread) {
  ++now_[static_cast<std::size_t>(thread)];
  knowledge_[static_cast<std::size_t>(thread)].seen.reach(now(thread));
}

void Order::publish(int thread, Knowledge& to) {
  to.join(of(thread));
  tick(thread);
}

void Order::fence_proxy_async(int thread) {
  Knowledge& known = knowledge_[static_cast<std::size_t>(thread)];
  known.fenced.join(known.seen);
  tick(thread);
}

}  // namespace flashfit::emu
