#pragma once
#include "inspect/read_target.hpp"
#include "inspect/source.hpp"
#include "inspect/zip.hpp"

namespace flashfit::inspect {

/// Fills metadata, wheel_file and binaries from a zip archive; its kind is kWheel, kSdist or kOther by what lies in it.
void read_wheel(const Source& zip, Target& target, const Progress& progress);

}  // namespace flashfit::inspect
