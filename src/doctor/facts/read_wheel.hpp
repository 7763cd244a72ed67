#pragma once
#include "doctor/bytes/source.hpp"
#include "doctor/bytes/zip.hpp"
#include "doctor/facts/read_target.hpp"

namespace flashfit::doctor {

/// Fills metadata, wheel_file and binaries from a zip archive; its kind is kWheel, kSdist or kOther by what lies in it.
void read_wheel(const Source& zip, Target& target, const Progress& progress);

}  // namespace flashfit::doctor
