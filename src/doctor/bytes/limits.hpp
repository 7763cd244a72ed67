#pragma once
// How much of an input the doctor reads, in one place: docs/doctor.md, "Limits", says what they come to. A file may
// cost 5 s and 512 MB beyond the time that its real bytes take, whatever it says of itself. Limits of one format's
// fields stand with its reader.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

/// What is counted and how much of it is read.
struct Limit {
  std::string_view what;
  std::uint64_t most;
};

namespace limits {

// Folders
inline constexpr Limit kFiles{"files of a folder", 1'000'000};  ///< the largest site-packages have some 200,000
inline constexpr Limit kFolderNames{"bytes of the names of a folder's files", std::uint64_t{128} << 20};
inline constexpr Limit kFolderDepth{"folders within one another", 64};  ///< the deepest of 200 environments has 22

// Compressed bytes: deflate reaches 1032 to 1, and what compilers make 3 to 1.
inline constexpr Limit kMemberRatio{"ratio of a member's sizes", 64};  ///< of members larger than kUnsuspected
inline constexpr std::uint64_t kUnsuspected = std::uint64_t{512} << 20;
inline constexpr std::uint64_t kContentOfAny = std::uint64_t{1} << 30, kContentRatio = 16;
/// Bytes that may come out of an archive that takes `stored` bytes of a disk.
constexpr Limit content_of(std::uint64_t stored) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  const bool all = stored > (kMost - kContentOfAny) / kContentRatio;
  return {"content of an archive", all ? kMost : kContentOfAny + kContentRatio * stored};
}

/// Names of a table, each searched for its end: many may end in one long text. Of real libraries, where a name is the
/// end of another at best, they come to three times the bytes of the table and its texts.
inline constexpr std::uint64_t kNameRatio = 16;
constexpr std::uint64_t names_of(std::uint64_t bytes) { return kNameRatio * bytes; }

/// What is kept of all members of an archive or files of a folder, as it lies in memory; the largest wheels take 0.5
/// MB.
inline constexpr Limit kBinaries{"files with machine code of a target", 65'536};  ///< a wheel of cubins has 9,000
inline constexpr Limit kFactsBytes{"bytes of what was found in a target", std::uint64_t{128} << 20};

/// What is said of a target; the worst comes first.
inline constexpr Limit kProblems{"problems of a target", 10'000};

// Images of containers
inline constexpr Limit kNameParts{"parts of the names of an image", 8'000'000};  ///< folders that follow one another

// Texts
inline constexpr Limit kListBytes{"bytes of a list", std::uint64_t{8} << 20};
inline constexpr Limit kPolicyBytes{"bytes of a policy", std::uint64_t{1} << 20};
inline constexpr Limit kNesting{"nesting of a text", 64};  ///< tables, arrays and the parts of keys; locks have 5
inline constexpr Limit kTomlValues{"values of a text", 500'000};  ///< each takes 200 bytes and more
/// Of a stream that does not end. Of a file with a place to read at, the end is read alone.
inline constexpr Limit kStreamBytes{"bytes of a stream", std::uint64_t{1} << 30};
/// How long a named pipe or a device may give nothing: it may wait for a writer that never comes.
inline constexpr std::chrono::seconds kSilence{5};

}  // namespace limits

/// beyond() in the limit's own words.
inline tl::unexpected<Error> beyond(const Limit& limit, std::uint64_t offset) {
  return beyond(limit.what, limit.most, offset);
}

}  // namespace flashfit::doctor
