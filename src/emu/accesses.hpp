#pragma once
// Who last wrote and read each byte of a block's shared memory, so that an
// access which no synchronisation orders after them is found whatever the
// schedule did.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "emu/order.hpp"
#include "emu/site.hpp"

namespace flashfit::emu {

enum class Proxy : unsigned char { kGeneric, kAsync };

/// An access by `thread`'s instruction at `site`. By an engine, `done` is when
/// it has ended: whoever knows that moment knows that it has.
struct AccessRecord {
  Moment done;
  Site site;
  const char* what;  ///< the instruction's name
  int thread;
  Proxy proxy;
  std::uint16_t bytes = 0;  ///< of the granule, a bit each
};

class Accesses {
 public:
  /// An earlier access that the new one is not ordered after; `fence`: it is,
  /// but for a missing fence.proxy.async; `unwritten`: an
  /// engine reads what nobody has written, or who did not say so.
  struct Conflict {
    AccessRecord earlier;
    bool was_write, fence, unwritten = false;
  };

  explicit Accesses(std::size_t bytes) : granules_((bytes + kGranule - 1) / kGranule) {}

  /// Records an access to bytes [offset, offset + bytes) by somebody who knows
  /// `knows`, or says what it conflicts with.
  std::optional<Conflict> read(std::size_t offset, std::size_t bytes, AccessRecord by, const Knowledge& knows);
  std::optional<Conflict> write(std::size_t offset, std::size_t bytes, AccessRecord by, const Knowledge& knows);
  /// The same questions, with nothing recorded.
  std::optional<Conflict> would_read(std::size_t offset, std::size_t bytes, Proxy proxy, const Knowledge& knows) const;

 private:
  static constexpr std::size_t kGranule = 16;
  struct Granule {
    std::vector<AccessRecord> writes, reads;
  };

  /// Calls `each(granule, mask)` for all granules of the range, until it
  /// returns a conflict.
  template <class Granules, class Each>
  static std::optional<Conflict> over(Granules& granules, std::size_t offset, std::size_t bytes, Each each);

  std::vector<Granule> granules_;
};

}  // namespace flashfit::emu
