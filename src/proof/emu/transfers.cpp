#include "proof/emu/transfers.hpp"

#include "proof/emu/thread_sanitizer.hpp"

namespace flashfit::emu {

void Transfers::issue(Transfer transfer) {
  const tsan::Unseen unseen;
  transfer.begun = std::make_unique<char>();
  tsan::release(transfer.begun.get());
  pending_.push_back(std::move(transfer));
}

bool Transfers::step() {
  if (pending_.empty()) return false;
  const int count = static_cast<int>(pending_.size());
  const int i = schedule_ == Schedule::kRandom     ? random_.below(count)
                : schedule_ == Schedule::kReversed ? count - 1
                                                   : 0;
  // Taken out first: a step may end the launch, and then never returns.
  const tsan::Unseen unseen;
  Transfer transfer = std::move(pending_[static_cast<std::size_t>(i)]);
  pending_.erase(pending_.begin() + i);
  bool last = false;
  {
    const tsan::AsEngine engine(transfer.begun.get());
    last = transfer.step();
  }
  if (!last) pending_.insert(pending_.begin() + i, std::move(transfer));
  return true;
}

}  // namespace flashfit::emu
