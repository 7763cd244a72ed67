#pragma once
// FF601: libraries that nothing brings, as few findings as tell it.
#include <string>
#include <vector>

#include "doctor/rules/judge.hpp"

namespace flashfit::doctor::environment {

/// A library that a file of a package asks for and that no folder which is searched has.
struct Absence {
  std::string library;  ///< "libavutil.so.56"
  std::string member;   ///< "torchcodec/libtorchcodec_core4.so"
  Severity severity = Severity::kNote;
};

/// One problem each. Of packages that have a file for each release of a library, of which one is to load (torchcodec
/// and torio have one for each FFmpeg), these are one problem, with the worst severity.
std::vector<Problem> absences(std::vector<Absence> all);

}  // namespace flashfit::doctor::environment
