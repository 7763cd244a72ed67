#pragma once
// The revision that this build was made from, in a file that cmake/revision.cmake writes.
#include <cstddef>

namespace flashfit::measure {

inline constexpr std::size_t kRevisionBytes = 64;

/// 40 digits, perhaps "-dirty", then zeros; or zeros alone. Of one length and in a file of its own, so that programs of
/// two revisions differ in these bytes alone: `./dev test --changed` leaves them out (tools/dev/reach.py).
extern const char kRevision[kRevisionBytes];

}  // namespace flashfit::measure
