#pragma once
// Copies that an engine does for one thread: into shared memory, told to an mbarrier; out of it, in bulk groups (PTX
// ISA, "cp.async.bulk", "cp.reduce.async.bulk"). Tensor maps and plain ranges are both made of these two.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "emu/site.hpp"

namespace flashfit::emu {

class Machine;

/// Into `bytes` of shared memory from `to` on. `blocks`: those of the cluster that get them, a bit each; every one at
/// the offset of `to`, told to the mbarrier at the offset of `barrier`. 0: the thread's own block.
struct BulkLoad {
  const char* what;
  std::uintptr_t to;
  std::size_t bytes;
  std::uintptr_t barrier;
  std::uint32_t blocks;
  std::function<void(std::byte* to)> fill;
};

/// From `bytes` of shared memory, which are read some time before the rest is done.
struct BulkStore {
  const char* what;
  std::uintptr_t from;
  std::size_t bytes;
  std::function<void(const std::byte* image)> write;
};

/// Adds fp32 numbers to those at `to`.
void add_f32(std::uintptr_t to, const std::byte* image, std::size_t bytes);

class BulkCopies {
 public:
  static void load(Machine& machine, const BulkLoad& load, Site site);
  void store(Machine& machine, const BulkStore& store, Site site);
  /// Closes the running thread's group of stores.
  void commit(Machine& machine);
  /// Until at most `pending` of its groups are not done; `read`: have not read their shared memory.
  void wait(Machine& machine, int pending, bool read, Site site);

 private:
  struct Progress {
    bool read = false, written = false;
  };
  using Group = std::vector<std::shared_ptr<Progress>>;
  struct Queue {
    int agent = -1;  ///< its epochs are the numbers of groups, from 1 on
    std::uint32_t committed = 0;
    Group open;
    std::vector<Group> groups;  ///< the committed ones that were not waited for in full
    bool waiting = false;
  };

  Queue& queue_of(Machine& machine);

  std::map<int, Queue> queues_;  ///< by thread of the cluster
};

}  // namespace flashfit::emu
