#pragma once
// A plan's launches, one after another on one stream: whatever the operation, the library runs them by
// runtime/images/loader.hpp and the emulator by proof/emulated/steps.hpp.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/launch/image.hpp"

namespace flashfit {

/// Thread blocks of a launch; x = 0 launches nothing.
struct Grid {
  std::int64_t x = 0;  ///< to 2^31 - 1
  int y = 1, z = 1;    ///< 1 to 65535
  bool operator==(const Grid&) const = default;
};

/// One launch. Threads, shared memory and cluster are those of the image's variant.
struct Step {
  const Image* image = nullptr;
  Grid grid;
  /// Memory that is set to 0 right before the step: so many 32-bit words from the address on that lies `address_at`
  /// bytes into the step's argument.
  struct Cleared {
    int words = 0;
    int address_at = 0;
    bool operator==(const Cleared&) const = default;
    void* in(const void* argument) const {
      void* address;
      std::memcpy(&address, static_cast<const char*>(argument) + address_at, sizeof address);
      return address;
    }
  } cleared = {};

  /// A programmatic dependent launch: it may begin once every block of the kernel before it in the stream, be that a
  /// step or somebody else's, has called launch_dependents() or ended, and sees what was written before it after its
  /// own grid_dependency_wait() (kernels/arch/arch.hpp). So are all steps whose kernel was compiled for a GPU that can,
  /// as those kernels wait, but where memory is cleared before: no kernel is.
  bool dependent() const { return image->target.cc >= 90 && cleared.words == 0; }
};

/// The steps of a plan, in the order in which they are queued. Plain data: plans are remembered and copied.
class Steps {
 public:
  static constexpr std::size_t kMost = 8;

  void add(const Step& step) { list_[count_++] = step; }
  /// Those of another plan, to be queued right after these.
  void add(const Steps& more) {
    for (const Step& step : more.all()) add(step);
  }
  std::span<const Step> all() const { return {list_.data(), count_}; }
  const Step& operator[](std::size_t i) const { return list_[i]; }
  std::size_t size() const { return count_; }
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }

 private:
  std::array<Step, kMost> list_;
  std::size_t count_ = 0;
};

}  // namespace flashfit
