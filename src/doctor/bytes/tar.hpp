#pragma once
// Tar archives (POSIX.1-2001: ustar and pax; GNU's long names and large numbers) as their bytes come. Nothing is
// unpacked, and no name reaches a file system.
#include <string>

#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

struct TarMember {
  enum class Kind : std::uint8_t { kFile, kFolder, kLink, kHardLink, kOther };
  std::string name;  ///< as written: any bytes but 0
  Kind kind = Kind::kFile;
  std::uint64_t size = 0;    ///< bytes of content in the archive
  std::uint64_t offset = 0;  ///< of the content in the archive
  std::string target;        ///< of links, as written
};

/// What is done with members.
class TarVisitor {
 public:
  virtual ~TarVisitor() = default;
  /// Whether the content is wanted.
  virtual Result<bool> begin(const TarMember& member) = 0;
  /// Of a member whose content is wanted, piece by piece; end() follows the last.
  virtual Result<void> content(Bytes piece) = 0;
  virtual Result<void> end() = 0;
};

class TarReader {
 public:
  static constexpr std::size_t kBlock = 512;
  static constexpr std::size_t kLongestName = 4096;                        ///< characters: Linux's longest path
  static constexpr std::uint64_t kLargestHeader = std::uint64_t{1} << 20;  ///< bytes of a pax header

  explicit TarReader(TarVisitor& visitor) : visitor_(visitor) {}

  /// Takes the bytes at `at` and gives the offset of the next byte wanted, so that what lies before it may be left out;
  /// kEnd behind the last member. Errors: the visitor's; malformed: a header's checksum, number or record, a name
  /// longer than kLongestName, GNU's sparse members.
  Result<std::uint64_t> feed(std::uint64_t at, Bytes chunk);
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};

  /// When there are no more bytes: the archive had `size`. Error: a member is cut short.
  Result<void> finish(std::uint64_t size) const;
  /// Whether a header was read, so that it is a tar archive.
  bool sound() const { return sound_; }

 private:
  enum class State : std::uint8_t { kHeader, kText, kContent, kEnded };

  void go_on(State state, std::uint64_t at, std::uint64_t size);
  Result<void> take_header();
  Result<void> take_text();
  Result<void> take_pax(std::string_view text, std::uint64_t begin);
  Result<void> open(const TarMember& member);
  Result<void> take_end();

  TarVisitor& visitor_;
  State state_ = State::kHeader;
  std::uint64_t at_ = 0;          ///< of the next byte wanted
  std::uint64_t until_ = kBlock;  ///< where the current part ends
  std::uint64_t after_ = 0;       ///< where the next header is
  std::uint64_t text_padding_ = 0;
  std::string held_;  ///< a header or a text so far
  char type_ = 0;
  bool sound_ = false;
  /// What headers before a member say of it.
  struct Next {
    std::string name, target;
    std::optional<std::uint64_t> size;
  };
  Next next_;
};

}  // namespace flashfit::doctor
