#pragma once
// Source distributions: what they will need to be compiled. Nothing in them is run.
#include <vector>

#include "doctor/bytes/source.hpp"
#include "doctor/bytes/zip.hpp"
#include "doctor/facts/facts.hpp"

namespace flashfit::doctor {

bool is_gzip(Bytes head);

/// Whether a zip archive without WHEEL is a source distribution: PKG-INFO, pyproject.toml or setup.py in its one
/// folder.
bool is_sdist(const std::vector<ZipMember>& members);

/// Fills metadata, build_requires, cuda_sources and uses_torch. read_tar_sdist sets the kind: kSdist, or kOther where
/// the file is no tar archive of one.
void read_zip_sdist(const Source& zip, const std::vector<ZipMember>& members, Target& target);
void read_tar_sdist(const Source& file, Target& target);

}  // namespace flashfit::doctor
