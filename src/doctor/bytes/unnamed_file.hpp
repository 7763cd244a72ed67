#pragma once
// Bytes that are too many for memory, in a file without a name that ends with this object.
#include "doctor/bytes/source.hpp"

namespace flashfit::doctor {

/// Written by one thread, then read by any number. In $TMPDIR, else /tmp.
class UnnamedFile final : public Source {
 public:
  /// Error: no such file can be made.
  static Result<std::unique_ptr<UnnamedFile>> make();
  ~UnnamedFile() override;
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  std::uint64_t size() const override { return size_; }
  bool read(std::uint64_t at, std::span<std::byte> into) const override;
  /// Error: the folder for temporary files is full.
  Result<void> append(Bytes bytes);

 private:
  explicit UnnamedFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace flashfit::doctor
