#pragma once
// How the GPU code of a binary fares on a GPU, container by container.
#include <string>
#include <vector>

#include "inspect/facts.hpp"
#include "inspect/question.hpp"
#include "inspect/report.hpp"

namespace flashfit::inspect {

/// A container that has no usable image, and why.
struct Lack {
  std::size_t container = 0;
  std::string reason;   ///< of best_of: "SASS 9.0a, no PTX. L40 is 8.9; 9.0a runs only on 9.0"
  bool driver = false;  ///< a newer driver alone would mend it
};

struct Coverage {
  GpuCoverage summary;
  std::size_t containers = 0;  ///< that hold anything a driver could load
  std::vector<Lack> lacks;
};

/// Objects compiled with -rdc are linked into containers without PTX; the driver links their PTX anew where no machine
/// code fits, if every object has some. So such a container counts as covered where all relocatable ones have usable
/// PTX (docs/doctor.md, "What runs where").
Coverage cover(const Binary& binary, const AskedGpu& gpu, CudaVersion driver);

/// Numbers of the binaries that are one library to whoever links or loads it: the objects of a static archive together,
/// any other binary alone.
using Library = std::vector<std::size_t>;
std::vector<Library> libraries_of(const Target& target);

struct LibraryLack {
  std::size_t binary = 0;
  Lack lack;
};

struct LibraryCoverage {
  Best best = Best::kNo;
  std::size_t containers = 0, covered = 0;
  std::vector<LibraryLack> lacks;
};
LibraryCoverage cover(const Target& target, const Library& library, const AskedGpu& gpu, CudaVersion driver);

/// Machine code and PTX that a binary holds, each once, in order: {"8.0", "9.0a"}.
struct Holdings {
  std::vector<std::string> sass, ptx;
  int newest_ptx_isa = 0;
};
Holdings holdings_of(const Binary& binary);

}  // namespace flashfit::inspect
