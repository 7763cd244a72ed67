#pragma once
// The import tables of a PE file: read by read_pe (pe.hpp).
#include "doctor/binaries/pe.hpp"

namespace flashfit::doctor {

/// Addresses of the tables, relative to the image; 0: none.
struct PeDirectories {
  std::uint32_t imports = 0, delayed = 0;
};

Result<std::vector<PeImport>> read_pe_imports(const Source& source, const std::vector<PeSection>& sections,
                                              const PeDirectories& directories);

}  // namespace flashfit::doctor
