#pragma once
// Copies that an engine does for one thread: into shared memory, told to an mbarrier; out of it, in bulk groups (PTX
// ISA, "cp.async.bulk", "cp.reduce.async.bulk"). Tensor maps and plain ranges are both made of these two.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "proof/emu/global_accesses.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/site.hpp"

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
  std::vector<Memory::Range> from;  ///< what it reads of global memory, as far as that is watched
  std::uintptr_t shared_from = 0;   ///< or of the thread's own block, as many bytes
};

/// From `bytes` of shared memory, which are read some time before the rest is done.
struct BulkStore {
  const char* what;
  std::uintptr_t from;
  std::size_t bytes;
  std::function<void(const std::byte* image)> write;
  std::vector<Memory::Range> to;  ///< what it writes of global memory, as far as that is watched
  GlobalAccess kind = GlobalAccess::kWrite;
};

class BulkCopies {
 public:
  static void load(Machine& machine, const BulkLoad& load, Site site);
  /// From the shared memory of the running thread's block to that of block `block`, at the offset of `to`.
  static void send(Machine& machine, std::uintptr_t to, std::uintptr_t from, std::size_t bytes, std::uintptr_t barrier,
                   int block, Site site);
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
    int agent = -1, writer = -1;  ///< their epochs are the numbers of groups, from 1 on: have read, are done
    std::uint32_t committed = 0;
    Group open;
    std::vector<Group> groups;  ///< the committed ones that were not waited for in full
    bool waiting = false;
  };

  Queue& queue_of(Machine& machine);

  std::map<int, Queue> queues_;  ///< by thread of the cluster
};

}  // namespace flashfit::emu
