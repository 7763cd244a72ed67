#include "proof/emu/order.hpp"

#include <algorithm>

namespace flashfit::emu {
namespace {

/// Whether none of b's epochs is later than a's.
bool covers(const Epochs& a, const Epochs& b) {
  for (std::size_t i = 0; i < b.size(); ++i)
    if ((i < a.size() ? a[i] : 0) < b[i]) return false;
  return true;
}

void take_later(Epochs& to, const Epochs& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

}  // namespace

const Epochs* Abroad::of(std::uint32_t cluster) const {
  if (entries_ == nullptr) return nullptr;
  const auto at = std::lower_bound(entries_->begin(), entries_->end(), cluster,
                                   [](const Entry& e, std::uint32_t c) { return e.cluster < c; });
  return at != entries_->end() && at->cluster == cluster ? at->epochs.get() : nullptr;
}

bool Abroad::reached(std::uint32_t cluster, Moment m) const {
  if (knows_all_of(cluster)) return true;
  const Epochs* const epochs = of(cluster);
  const auto agent = static_cast<std::size_t>(m.agent);
  return epochs != nullptr && agent < epochs->size() && (*epochs)[agent] >= m.epoch;
}

void Abroad::add(std::uint32_t cluster, const Epochs& epochs) {
  Abroad one;
  one.entries_ = std::make_shared<const Entries>(1, Entry{cluster, std::make_shared<const Epochs>(epochs)});
  join(one);
}

std::shared_ptr<const Abroad::Entries> Abroad::joined(const std::shared_ptr<const Entries>& a,
                                                      const std::shared_ptr<const Entries>& b) {
  if (a == nullptr) return b;
  Entries all;
  all.reserve(a->size() + b->size());
  bool as_a = true, as_b = true;  // the result is what one of them holds, and can be shared
  auto i = a->begin(), j = b->begin();
  while (i != a->end() || j != b->end()) {
    if (j == b->end() || (i != a->end() && i->cluster < j->cluster)) {
      all.push_back(*i++);
      as_b = false;
    } else if (i == a->end() || j->cluster < i->cluster) {
      all.push_back(*j++);
      as_a = false;
    } else {
      const bool by_a = i->epochs == j->epochs || covers(*i->epochs, *j->epochs);
      const bool by_b = i->epochs == j->epochs || covers(*j->epochs, *i->epochs);
      as_a = as_a && by_a;
      as_b = as_b && by_b;
      if (by_a || by_b) {
        all.push_back(by_a ? *i : *j);
      } else {
        Epochs both = *i->epochs;
        take_later(both, *j->epochs);
        all.push_back({i->cluster, std::make_shared<const Epochs>(std::move(both))});
      }
      ++i, ++j;
    }
  }
  if (as_a || as_b) return as_a ? a : b;
  return std::make_shared<const Entries>(std::move(all));
}

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
  abroad_.join(other.abroad_);
}

void Clock::hear(std::uint32_t cluster, const Abroad& from) {
  if (const Epochs* const own = from.of(cluster)) take_later(epochs_, *own);
  abroad_.join(from);
}

bool Clock::reached(const Clock& other) const {
  for (std::size_t i = 0; i < other.epochs_.size(); ++i)
    if (at(static_cast<int>(i)) < other.epochs_[i]) return false;
  return true;
}

void join_shared(std::shared_ptr<const Released>& to, const std::shared_ptr<const Released>& from) {
  if (from == nullptr || from == to) return;
  if (to == nullptr) {
    to = from;
    return;
  }
  Released both = *to;
  both.join(*from);
  to = std::make_shared<const Released>(std::move(both));
}

Order::Order(int threads, std::uint32_t cluster)
    : cluster_(cluster), knowledge_(static_cast<std::size_t>(threads)), now_(knowledge_.size()), agents_(threads) {
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

void Order::release(int thread, Released& to) {
  const Knowledge& known = of(thread);
  known.seen.tell(cluster_, to.seen);
  known.fenced.tell(cluster_, to.fenced);
  known.fenced_global.tell(cluster_, to.fenced_global);
  tick(thread);
}

void Order::acquire(int thread, const Released& from) {
  Knowledge& known = knowledge_[static_cast<std::size_t>(thread)];
  known.seen.hear(cluster_, from.seen);
  known.fenced.hear(cluster_, from.fenced);
  known.fenced_global.hear(cluster_, from.fenced_global);
}

Order::Fence& Order::make_fence(int thread) {
  if (fences_.empty()) fences_.resize(knowledge_.size());
  return fences_[static_cast<std::size_t>(thread)];
}

void Order::fence(int thread, bool sequential) {
  Fence& fence = make_fence(thread);
  acquire(thread, fence.read);
  Knowledge& known = knowledge_[static_cast<std::size_t>(thread)];
  if (sequential && known.read != nullptr) acquire(thread, *known.read);
  fence.any = true;
  release(thread, fence.known);
  if (sequential) known.at_fence = std::make_shared<const Released>(fence.known);
}

void Order::release_by_fence(int thread, Released& to) const { to.join(fence_of(thread).known); }

void Order::acquire_by_fence(int thread, const Released& from) { make_fence(thread).read.join(from); }

// The end of a grid orders what it did before engines too.
void Order::learn_all_before(int thread, std::uint32_t cluster) {
  Knowledge& known = knowledge_[static_cast<std::size_t>(thread)];
  known.seen.add_all_before(cluster);
  known.fenced.add_all_before(cluster);
  known.fenced_global.add_all_before(cluster);
}

void Order::fence_proxy_async(int thread) {
  Knowledge& known = knowledge_[static_cast<std::size_t>(thread)];
  known.fenced.join(known.seen);
  tick(thread);
}

void Order::fence_proxy_async_global(int thread) {
  Knowledge& known = knowledge_[static_cast<std::size_t>(thread)];
  known.fenced_global.join(known.seen);
  tick(thread);
}

}  // namespace flashfit::emu
