#pragma once
// Finds fat binaries in bytes that stream by: headers are looked at, payloads jumped over, nothing kept but the list.
#include <vector>

#include "doctor/bytes/source.hpp"
#include "doctor/gpu_code/fatbin.hpp"

namespace flashfit::doctor {

class FatbinScanner {
 public:
  enum class Mode {
    kSection,  ///< containers and gaps of zeros, nothing else: .nv_fatbin, __nv_relfatbin, a .fatbin file
    kSearch,   ///< anything: containers are looked for at every eighth byte, and what contradicts itself is none
  };
  /// Scans [begin, end); containers lie at multiples of eight from `begin` on.
  FatbinScanner(std::uint64_t begin, std::uint64_t end, Mode mode)
      : mode_(mode), begin_(begin), at_(begin), end_(end) {}

  /// The bytes at `at`, which is at most wanted(): chunks come in order, and bytes that are not wanted may be left out.
  /// Errors: malformed (kSection alone); more than 262,144 containers or entries, or 16 MB of options.
  Result<void> feed(std::uint64_t at, Bytes chunk);
  /// The bytes from wanted() to `until` are zeros, which need not be fed. Errors: feed()'s.
  Result<void> pass_zeros(std::uint64_t until);
  /// The offset of the next byte to be fed; the end when nothing more is needed.
  std::uint64_t wanted() const { return at_ + held_.size(); }
  /// The containers, once all that was wanted is fed. Error: it is not.
  Result<std::vector<FatbinContainer>> finish();
  /// How often a container's magic was followed by what cannot be one (kSearch): each may have hidden a real container,
  /// so no clean verdict may rest on such a search.
  std::uint64_t doubtful() const { return doubtful_; }
  /// What was found so far; the last one may lack entries.
  const std::vector<FatbinContainer>& found() const { return containers_; }

 private:
  struct Step {
    std::uint64_t consumed = 0;
    std::uint64_t needed = 0;  ///< bytes that must be there to go on; 0: any
  };
  /// `view`: the bytes from at_ on, as far as they are there.
  Result<Step> advance(Bytes view);
  Result<Step> search(Bytes view) const;
  Result<Step> open_container(Bytes view);
  Result<Step> read_next_entry(Bytes view);
  Step give_up();

  Mode mode_;
  std::uint64_t begin_, at_, end_;
  std::uint64_t entries_ = 0, option_bytes_ = 0, doubtful_ = 0;
  bool inside_ = false;          ///< of containers_.back()
  std::vector<std::byte> held_;  ///< bytes from at_ on that do not make a record yet
  std::uint64_t needed_ = 0;     ///< how many of them do
  std::vector<FatbinContainer> containers_;
};

/// The containers of [begin, begin + size) of a source, which must hold that part: headers alone are read.
Result<std::vector<FatbinContainer>> read_fatbins(const Source& source, std::uint64_t begin, std::uint64_t size);

}  // namespace flashfit::doctor
