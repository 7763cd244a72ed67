#pragma once
// The bytes of one file or one member of an archive: at random where they lie in a file, else only in order.
#include <functional>
#include <string>
#include <vector>

#include "doctor/bytes/zip.hpp"

namespace flashfit::doctor {

class Content {
 public:
  /// Takes the bytes at `at` and gives the offset of the next byte wanted, so that what lies before it may be left out;
  /// size() ends the pass.
  using Visit = std::function<Result<std::uint64_t>(std::uint64_t at, Bytes chunk)>;

  virtual ~Content() = default;
  virtual std::uint64_t size() const = 0;
  /// Null where the bytes come only in order.
  virtual const Source* source() const = 0;
  virtual Result<void> read_through(const Visit& visit) const = 0;
  /// The first bytes, at most `size`.
  virtual Result<std::vector<std::byte>> head(std::size_t size) const = 0;
};

/// A source in memory or in a file, which must outlive it.
class SourceContent final : public Content {
 public:
  explicit SourceContent(const Source& source) : source_(source) {}
  std::uint64_t size() const override { return source_.size(); }
  const Source* source() const override { return &source_; }
  Result<void> read_through(const Visit& visit) const override;
  Result<std::vector<std::byte>> head(std::size_t size) const override;

 private:
  const Source& source_;
};

/// A member of a zip archive; both must outlive it. A pass to the end checks length and CRC. Its head is inflated once,
/// however often it is asked for: a wheel may have ten thousand small members. Not for several threads at once.
class MemberContent final : public Content {
 public:
  MemberContent(const Source& zip, const ZipMember& member) : zip_(zip), member_(member) {}
  std::uint64_t size() const override { return member_.size; }
  const Source* source() const override { return nullptr; }
  Result<void> read_through(const Visit& visit) const override;
  Result<std::vector<std::byte>> head(std::size_t size) const override;

 private:
  const Source& zip_;
  const ZipMember& member_;
  mutable std::vector<std::byte> head_;
};

}  // namespace flashfit::doctor
