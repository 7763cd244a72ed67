#pragma once
// Looks for GPU code in a file that is read once from its start: fat binaries, and cubins that lie bare in a library's
// data (onnxruntime's attention kernels are kept so). And for a CUDA runtime among the host's code.
#include <optional>
#include <vector>

#include "doctor/gpu_code/fatbin_scanner.hpp"
#include "doctor/gpu_code/linked_cudart.hpp"

namespace flashfit::doctor {

/// A cubin outside any container.
struct BareCubin {
  std::uint64_t offset = 0, size = 0;
};

class CodeSearch {
 public:
  explicit CodeSearch(std::uint64_t size) : size_(size), scanner_(0, size, FatbinScanner::Mode::kSearch) {}

  /// The bytes at `at`, in order; what is not wanted may be left out. Errors: beyond the scanner's limits.
  Result<void> feed(std::uint64_t at, Bytes chunk);
  /// The bytes from `at` on, where the last chunk ended, to `until` are zeros: a hole of the file, which need not be
  /// fed.
  Result<void> pass_zeros(std::uint64_t at, std::uint64_t until);
  std::uint64_t wanted() const;

  struct Found {
    std::vector<FatbinContainer> containers;
    std::vector<BareCubin> cubins;
    std::uint64_t doubtful = 0;
    int cudart = 0;  ///< LinkedCudart::major()
    /// A machine-code entry and its payload, which tells the toolkit; its offset is zero, as the payload is `payload`.
    std::optional<FatbinEntry> sample;
    std::vector<std::byte> payload;
  };
  Result<Found> finish();

 private:
  void look_at_words(std::uint64_t at, Bytes chunk);
  void note(std::uint64_t offset, Bytes window);
  void note_cubin(std::uint64_t offset, Bytes header);
  void sample(std::uint64_t at, Bytes chunk);

  std::uint64_t size_;
  FatbinScanner scanner_;
  LinkedCudart cudart_;
  std::vector<std::byte> carried_;  ///< the end of the last chunk
  std::uint64_t carried_at_ = 0;
  Found found_;
  std::size_t containers_seen_ = 0;
};

}  // namespace flashfit::doctor
