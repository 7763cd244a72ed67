#pragma once
// What a kernel may touch of global memory.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flashfit::emu {

enum class Access : unsigned char { kRead, kWrite };

/// The tensors of a launch. Bounds are those of the bytes that belong to the tensor:
/// its red zones and padding stay outside.
class Memory {
 public:
  /// The kernel may read `bytes` from `base` on. An empty tensor may be added: findings then name it.
  Memory& read_only(std::string name, const void* base, std::size_t bytes);
  /// The kernel may read and write them.
  Memory& writable(std::string name, void* base, std::size_t bytes);

  /// Whether one tensor holds all the bytes and allows the access.
  bool allows(std::uintptr_t address, std::size_t bytes, Access access) const {
    for (const Tensor& t : tensors_)
      if (address - t.base < t.bytes && t.bytes - (address - t.base) >= bytes)
        return access == Access::kRead || t.writable;
    return false;
  }
  /// An address in words, by the nearest tensor: "byte 96 past the end of k (2048 bytes)".
  std::string describe(std::uintptr_t address) const;

  struct Range {
    std::uintptr_t base;
    std::size_t bytes;
  };
  /// Of the tensors that the kernel may write.
  std::vector<Range> writable_ranges() const;

 private:
  struct Tensor {
    std::string name;
    std::uintptr_t base;
    std::size_t bytes;
    bool writable;
  };
  std::vector<Tensor> tensors_;
};

}  // namespace flashfit::emu
