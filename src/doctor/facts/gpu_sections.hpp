#pragma once
// The fat binaries of a library by its section table, held against what a search of the whole file found.
#include "doctor/bytes/content.hpp"
#include "doctor/facts/facts.hpp"
#include "doctor/gpu_code/code_search.hpp"

namespace flashfit::doctor {

struct GpuSection {
  std::uint64_t offset = 0, size = 0;
  bool relocatable = false;  ///< __nv_relfatbin
};

/// Adds to binary.containers and sets binary.toolkit where the code tells it. Where the search did not cover the
/// sections, a pass over the content reads them by the table, as a forged header may have hidden what is there. Errors:
/// malformed sections.
Result<void> add_gpu_code(const Content& content, const std::vector<GpuSection>& sections, CodeSearch::Found& found,
                          Binary& binary);

/// Whole fat binaries from [offset, offset + size) of the content, nothing else between them.
Result<std::vector<FatbinContainer>> read_section(const Content& content, const GpuSection& section);

Container to_container(const FatbinContainer& container, bool relocatable, CudaVersion toolkit);

/// The toolkit that made the sample's machine code; 0 if it does not say.
CudaVersion toolkit_of(const CodeSearch::Found& found);

}  // namespace flashfit::doctor
