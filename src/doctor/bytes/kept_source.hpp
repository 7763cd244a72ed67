#pragma once
// Random access to what can only be read through from its start, such as a deflated member: some parts are kept.
#include <vector>

#include "doctor/bytes/source.hpp"

namespace flashfit::doctor {

/// Parts are wanted before a pass and filled by it. A read of what was not kept fails and is remembered, so that the
/// next pass can keep it. Not for several threads at once.
class KeptSource final : public Source {
 public:
  explicit KeptSource(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  bool read(std::uint64_t at, std::span<std::byte> into) const override;

  /// Keeps [at, at + size), cut to what there is, in the next pass. What was kept before is forgotten with the first
  /// want() after a pass.
  void want(std::uint64_t at, std::uint64_t size);
  /// The same for the pass that is under way, of what begins behind all that was fed; the chunk fed last may be fed
  /// once more, for what begins in it.
  void want_ahead(std::uint64_t at, std::uint64_t size);
  void feed(std::uint64_t at, Bytes chunk);
  /// Bytes that a pass keeps.
  std::uint64_t wanted() const;
  /// Behind the last byte wanted: a pass may end there.
  std::uint64_t end() const;

  bool missed() const { return !missed_.empty(); }
  /// Wants what was kept and what was missed. Error: more than 128 MB.
  Result<void> want_missed();

 private:
  struct Part {
    std::uint64_t begin, end;
    std::vector<std::byte> bytes;
  };
  struct Range {
    std::uint64_t begin, end;
  };
  void merge(std::vector<Range> ranges);

  std::uint64_t size_;
  std::vector<Part> parts_;  ///< in order, apart from each other
  mutable std::vector<Range> missed_;
};

}  // namespace flashfit::doctor
