#include "proof/ptx/warp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "proof/emu/machine.hpp"
#include "proof/ptx/block.hpp"
#include "proof/ptx/lent_registers.hpp"

namespace flashfit::ptx {

Warp::Warp(const Program& program, Block& block, int number)
    : program_(program),
      block_(block),
      number_(number),
      registers_(
          static_cast<std::byte*>(::operator new[](program.register_bytes, std::align_val_t{Program::kSlotAlignment}))),
      local_(program.local_bytes != 0 ? new std::byte[program.local_bytes * kLanes] : nullptr) {}

Warp::~Warp() = default;

LentRegisters& Warp::lent() {
  if (lent_ == nullptr) lent_ = std::make_unique<LentRegisters>();
  return *lent_;
}

void Warp::start(std::uint32_t lanes) {
  const std::size_t constants = program_.constants.size();
  std::memcpy(registers_.get(), program_.constants.data(), constants);
  emu::SharedMemory::poison(registers_.get() + constants, program_.register_bytes - constants);
  if (local_ != nullptr) emu::SharedMemory::poison(local_.get(), program_.local_bytes * kLanes);
  for (const SpecialSlot& s : program_.specials)
    for (int l = 0; l < kLanes; ++l) {
      const std::uint64_t value = block_.special(s.which, s.axis, number_, l);
      if (s.bits == 64)
        at<std::uint64_t>(s.slot)[l] = value;
      else
        at<std::uint32_t>(s.slot)[l] = static_cast<std::uint32_t>(value);
    }
  if (lent_ != nullptr) lent_->clear();
  pc_ = 0;
  live_ = active_ = lanes;
  next_group_ = ~0u;
  groups_.clear();
  steps_ = asked_ = 0;
  asked_at_ = ~0u;
  parts_ = false;
}

void Warp::put(Group group) {
  for (Group& g : groups_)
    if (g.pc == group.pc) {
      g.lanes |= group.lanes;
      g.waiting = false;
      g.asked = 0;
      return;
    }
  groups_.push_back(group);
}

void Warp::choose() {
  if (active_ != 0) put({pc_, active_, false, parts_ ? steps_ : 0});
  active_ = 0;
  parts_ = false;
  const auto behind = [](const Group& a, const Group& b) {
    if (a.waiting != b.waiting) return !a.waiting;
    return a.asked != b.asked ? a.asked < b.asked : a.pc < b.pc;
  };
  const auto first = std::min_element(groups_.begin(), groups_.end(), behind);
  if (first->waiting) block_.stop(0, program_.code[first->pc], "lanes of a warp wait for one another: " + waits());
  pc_ = first->pc;
  active_ = first->lanes;
  groups_.erase(first);
  next_group_ = ~0u;
  for (const Group& g : groups_)
    if (g.pc > pc_) next_group_ = std::min(next_group_, g.pc);
}

void Warp::leave_behind(std::uint32_t lanes) {
  active_ &= ~lanes;
  put({pc_ + 1, lanes, false});
}

bool Warp::members_are_here(const Instruction& i, std::uint32_t here) {
  const std::uint32_t* const members = at<std::uint32_t>(i.r[0]);
  std::uint32_t wanted = 0;
  for (int l = 0; l < kLanes; ++l)
    if ((here >> l & 1) != 0) wanted |= members[l];
  return (wanted & live_ & ~here) == 0;
}

std::string Warp::waits() const {
  std::string text;
  for (const Group& g : groups_)
    text += fmt::format("{}{} wait at {}", text.empty() ? "" : ", ", emu::Machine::lanes_in_words(g.lanes),
                        emu::Machine::in_words(program_.sites[program_.code[g.pc].site]));
  return text;
}

bool Warp::let_others_run() {
  parts_ = std::ranges::any_of(groups_, [](const Group& g) { return !g.waiting; });
  return parts_;
}

bool Warp::asks_in_a_loop() {
  constexpr std::uint64_t kLoop = 32;  // instructions
  const bool again = asked_at_ == pc_ && steps_ - asked_ <= kLoop;
  asked_at_ = pc_;
  asked_ = steps_;
  return again;
}

Warp::Pause Warp::run(std::uint64_t most) {
  const Instruction* const code = program_.code.data();
  const std::uint64_t end = steps_ + most;
  while (true) {
    if (pc_ == next_group_) choose();
    if (steps_++ == end) return Pause::kTurnOver;
    const Instruction& i = code[pc_];
    mask_ = active_ & (predicate(i.guard) ^ i.guard_flip);
    switch (i.kind) {
      case Kind::kPlain:
        if (mask_ != 0) i.run(*this, i);
        ++pc_;
        break;
      case Kind::kAsk:
        if (mask_ != 0) i.run(*this, i);
        ++pc_;
        if (parts_) choose();
        break;
      case Kind::kBranch: {
        const auto to = static_cast<std::uint32_t>(i.extra);
        if (mask_ == 0) {
          ++pc_;
        } else if (mask_ == active_) {
          pc_ = to;
          if (!groups_.empty()) choose();
        } else {
          active_ &= ~mask_;
          put({to, mask_, false});
          ++pc_;
          choose();
        }
        break;
      }
      case Kind::kExit: {
        live_ &= ~mask_;
        active_ &= ~mask_;
        ++pc_;
        for (Group& g : groups_) g.waiting = false;  // they may have waited for these lanes
        if (active_ != 0) break;
        if (groups_.empty()) return Pause::kLeft;
        choose();
        break;
      }
      case Kind::kTogether:
      case Kind::kBarrier: {
        if (mask_ != active_) {
          leave_behind(active_ & ~mask_);
          if (active_ == 0) {
            choose();
            break;
          }
        }
        const bool complete = i.kind == Kind::kBarrier ? mask_ == live_ : members_are_here(i, mask_);
        if (!complete) {
          groups_.push_back({pc_, active_, true});
          active_ = 0;
          choose();
          break;
        }
        i.run(*this, i);
        ++pc_;
        if (!groups_.empty()) choose();
        break;
      }
    }
  }
}

}  // namespace flashfit::ptx
