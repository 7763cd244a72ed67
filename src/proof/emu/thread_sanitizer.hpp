#pragma once
// ThreadSanitizer's view of a kernel, in programs that are linked with it (-fsanitize=thread); elsewhere nothing
// happens here. Kernels are compiled for it, so it sees their plain loads and stores. The machine is not, as it
// switches threads behind its back; instead it says here what it does in a thread's name, and who waits for whom.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "proof/emu/site.hpp"

// NOLINTBEGIN(bugprone-reserved-identifier): ThreadSanitizer's; weak, so that a program without it has none.
extern "C" {
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_ignore_thread_begin();
[[gnu::weak]] void __tsan_ignore_thread_end();
}
// NOLINTEND(bugprone-reserved-identifier)

namespace flashfit::emu::tsan {

/// Whether this program has ThreadSanitizer.
inline bool on() { return __tsan_create_fiber != nullptr; }

/// From here on this host thread is fibre i, with the history that fibre i has had since the program began; or itself.
void enter(int i);
void enter_host();

/// While one lives, the running fibre's accesses are the machine's and of no interest. The machine is not compiled for
/// ThreadSanitizer, which sees all the same what memory it allocates, moves and frees: fibre by fibre, with no
/// synchronisation between, and a report takes milliseconds.
class Unseen {
 public:
  Unseen() {
    if (on()) __tsan_ignore_thread_begin();
  }
  ~Unseen() {
    if (on()) __tsan_ignore_thread_end();
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};

/// While one lives, this host thread is the engine that works beside the running fibre. What was released to `start`
/// came before what the engine does.
class AsEngine {
 public:
  explicit AsEngine(const void* start);
  ~AsEngine();
  AsEngine(const AsEngine&) = delete;
  AsEngine& operator=(const AsEngine&) = delete;

 private:
  void* back_ = nullptr;
};

/// The running fibre accesses emulated memory by an instruction at `site`.
void read(std::uintptr_t address, std::size_t bytes, const Site& site);
void write(std::uintptr_t address, std::size_t bytes, const Site& site);

/// What the running fibre did before release(key) happened before what others do after acquire(key).
void release(const void* key);
void acquire(const void* key);

struct Access {
  int fibre;  ///< negative: the host
  bool write;
  int bytes;
  std::uintptr_t address;
  std::string place;  ///< "forward.cuh:83"
};
/// Two accesses that nothing orders; `later` is the running fibre's.
struct Race {
  Access later, earlier;
};
/// The first race of this host thread since the last call, if there was one.
std::optional<Race> take();

}  // namespace flashfit::emu::tsan
