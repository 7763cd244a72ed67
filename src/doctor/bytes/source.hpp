#pragma once
// Where the readers of this layer read: a file, memory, or a part of either.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

/// Bytes at random. Implementations are const and may be read by several threads at once.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::uint64_t size() const = 0;
  /// Fills `into` with the bytes at `at`; false if they are not all there.
  virtual bool read(std::uint64_t at, std::span<std::byte> into) const = 0;
  /// Where the first bytes at or behind `at` lie that are not known to be zero without reading them: `at` itself but in
  /// a hole of a sparse file; size() behind the last.
  virtual std::uint64_t next_data(std::uint64_t at) const { return at; }
  /// Bytes that take space, at most size(): holes of a sparse file take none.
  virtual std::uint64_t stored() const { return size(); }
};

/// A view of bytes that must outlive it.
class MemorySource final : public Source {
 public:
  explicit MemorySource(Bytes bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  bool read(std::uint64_t at, std::span<std::byte> into) const override;

 private:
  Bytes bytes_;
};

/// Fills `into` from an open file; false if the bytes are not all there.
bool read_at(int descriptor, std::uint64_t at, std::span<std::byte> into);

/// A file, read in place and never mapped: a map keeps what was read resident, and dies if the file is cut meanwhile.
class FileSource final : public Source {
 public:
  /// Error: the path and the system's reason, or that it is no regular file.
  static Result<FileSource> open(const std::string& path);
  FileSource(FileSource&& other) noexcept;
  FileSource& operator=(FileSource&&) = delete;
  ~FileSource() override;

  std::uint64_t size() const override { return size_; }
  bool read(std::uint64_t at, std::span<std::byte> into) const override;
  std::uint64_t next_data(std::uint64_t at) const override;
  std::uint64_t stored() const override { return stored_; }

 private:
  FileSource(int descriptor, std::uint64_t size, std::uint64_t stored)
      : descriptor_(descriptor), size_(size), stored_(stored) {}
  int descriptor_;
  std::uint64_t size_, stored_;
};

/// [begin, begin + size) of another source, which must outlive it and hold that part.
class PartSource final : public Source {
 public:
  PartSource(const Source& whole, std::uint64_t begin, std::uint64_t size)
      : whole_(whole), begin_(begin), size_(size) {}
  std::uint64_t size() const override { return size_; }
  bool read(std::uint64_t at, std::span<std::byte> into) const override;
  std::uint64_t next_data(std::uint64_t at) const override;
  std::uint64_t stored() const override { return std::min(size_, whole_.stored()); }

 private:
  const Source& whole_;
  std::uint64_t begin_, size_;
};

/// [at, at + size) of `source` in memory of its own. Errors name `what`: it is not all there, or larger than `limit`.
Result<std::vector<std::byte>> read_part(const Source& source, std::uint64_t at, std::uint64_t size,
                                         std::uint64_t limit, std::string_view what);

}  // namespace flashfit::doctor
