#include "proof/emu/cluster_barrier.hpp"

#include <fmt/format.h>

#include "proof/emu/machine.hpp"
#include "proof/emu/thread_sanitizer.hpp"

namespace flashfit::emu {

void ClusterBarrier::arrive(Machine& machine, int live, Site site) {
  Thread& self = threads_[static_cast<std::size_t>(machine.thread())];
  if (self.arrived)
    machine.stop(fmt::format("cluster_arrive without cluster_wait after the one at {}", Machine::in_words(self.site)),
                 &site);
  self = {true, false, generation_, site};
  ++arrived_;
  machine.publish(published_);
  tsan::release(this);
  complete_if_due(machine, live);
}

void ClusterBarrier::wait(Machine& machine, Site site) {
  Thread& self = threads_[static_cast<std::size_t>(machine.thread())];
  if (!self.arrived) machine.stop("cluster_wait without a cluster_arrive before it", &site);
  if (self.generation == generation_) {
    self.waiting = true;
    machine.suspend({[](const void* on) {
                       return fmt::format("cluster_wait ({} threads are there)",
                                          static_cast<const ClusterBarrier*>(on)->arrived_);
                     },
                     this, site});
  }
  self.arrived = self.waiting = false;
  // Nobody completes the next generation before this thread has arrived in it, so these are its own generation's.
  machine.learn(completed_);
  tsan::acquire(this);
}

void ClusterBarrier::complete_if_due(Machine& machine, int live) {
  if (arrived_ == 0 || arrived_ != live) return;
  ++generation_;
  arrived_ = 0;
  completed_ = published_;
  for (std::size_t t = 0; t < threads_.size(); ++t)
    if (threads_[t].waiting) machine.wake(static_cast<int>(t));
}

}  // namespace flashfit::emu
