#include "emu/transfers.hpp"

namespace flashfit::emu {

bool Transfers::step() {
  if (pending_.empty()) return false;
  const int count = static_cast<int>(pending_.size());
  const int i = schedule_ == Schedule::kRandom     ? random_.below(count)
                : schedule_ == Schedule::kReversed ? count - 1
                                                   : 0;
  // Taken out first: a step may end the launch, and then never returns.
  Transfer transfer = std::move(pending_[static_cast<std::size_t>(i)]);
  pending_.erase(pending_.begin() + i);
  if (!transfer.step()) pending_.insert(pending_.begin() + i, std::move(transfer));
  return true;
}

}  // namespace flashfit::emu
