#pragma once
// How the GPU code of a binary fares on a GPU, container by container.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "inspect/facts.hpp"
#include "inspect/question.hpp"
#include "inspect/report.hpp"
#include "inspect/what_runs_where.hpp"

namespace flashfit::inspect {

/// A container that has no usable image, and why.
struct Lack {
  std::size_t container = 0;
  std::string reason;   ///< of best_of: "SASS 9.0a, no PTX. L40 is 8.9; 9.0a runs only on 9.0"
  bool driver = false;  ///< a newer driver alone would mend it
};

/// Containers that count: those that hold anything a driver could load, without the relocatable ones beside linked
/// ones, which are what those were linked from.
std::size_t counted_containers(const Binary& binary);

struct Coverage {
  GpuCoverage summary;
  std::size_t containers = 0;  ///< counted_containers()
  std::vector<Lack> lacks;
};

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

/// One GPU under one driver. Containers of a target hold much the same, so that few kinds of them are judged, however
/// many libraries it has.
class GpuJudge {
 public:
  /// What decides of a container's entries.
  using Key = std::vector<std::tuple<int, int, int, int, int, bool, bool>>;

  GpuJudge(const AskedGpu& gpu, CudaVersion driver);
  /// Objects compiled with -rdc are linked into containers without PTX; the driver links their PTX anew where no
  /// machine code fits, if every object has some. So such a container counts as covered where all relocatable ones have
  /// usable PTX (docs/doctor.md, "What runs where").
  Coverage cover(const Binary& binary);
  LibraryCoverage cover(const Target& target, const Library& library);

 private:
  struct Known {
    Answer answer;
    bool with_another_driver = false;
  };
  const Known& judge(const Container& c);

  std::string asked_;
  Machine machine_;
  std::map<Key, Known> known_;
};

/// Machine code and PTX that a binary holds, each once, in order: {"8.0", "9.0a"}.
struct Holdings {
  std::vector<std::string> sass, ptx;
  int newest_ptx_isa = 0;
};
Holdings holdings_of(const Binary& binary);

}  // namespace flashfit::inspect
