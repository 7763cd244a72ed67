#pragma once
// How the GPU code of a binary fares on a GPU, container by container.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "doctor/facts/facts.hpp"
#include "doctor/gpu_code/what_runs_where.hpp"
#include "doctor/rules/question.hpp"
#include "doctor/rules/report.hpp"

namespace flashfit::doctor {

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
  bool bare_runs = false;  ///< a bare cubin beside fat binaries runs
};

/// A cubin that lies bare in a library's data (add_bare_cubins): the program picks one of them by the GPU, so that none
/// is a source of its own.
bool is_bare(const Container& container);

/// Numbers of the binaries that linkers and loaders take as one library: the objects of a static archive together, any
/// other binary alone.
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
  bool bare_runs = false;  ///< Coverage::bare_runs of any
};

/// One GPU under one driver. Containers of a target hold much the same, so that few kinds of them are judged, however
/// many libraries it has.
class GpuJudge {
 public:
  /// What decides of a container's entries.
  using Key = std::vector<std::tuple<int, int, int, int, int, bool, bool>>;

  /// `package`: what the binaries lie in, which must outlive this. A program picks cubins by the GPU, be they bare in a
  /// library's data or files of their own: a container without a usable image is covered if each of its kernels, as far
  /// as their names were read, is in a cubin of the package that runs.
  GpuJudge(const AskedGpu& gpu, CudaVersion driver, const Target* package = nullptr);
  /// Objects compiled with -rdc are linked into containers without PTX; the driver links their PTX anew where no
  /// machine code fits, if every object has some. So such a container counts as covered where all relocatable ones have
  /// usable PTX (docs/doctor.md, "What runs where").
  Coverage cover(const Binary& binary);
  LibraryCoverage cover(const Target& target, const Library& library);
  /// Whether a cubin of the package runs.
  bool has_cubins() { return cubins().any; }
  /// Whether the container has a usable image of its own.
  bool runs(const Container& container) { return judge(container).answer.best != Best::kNo; }

 private:
  struct Known {
    Answer answer;
    bool with_another_driver = false;
  };
  /// Those of the package that run.
  struct Cubins {
    bool any = false;
    std::unordered_set<std::string_view> kernels;
  };
  const Known& judge(const Container& c);
  const Cubins& cubins();
  bool is_in_cubins(const Binary& binary, const Container& c);

  std::string asked_;
  Machine machine_;
  const Target* package_;
  std::map<Key, Known> known_;
  std::optional<Cubins> cubins_;
};

/// Machine code and PTX that a binary holds, each once, in order: {"8.0", "9.0a"}.
struct Holdings {
  std::vector<std::string> sass, ptx;
  int newest_ptx_isa = 0;
};
Holdings holdings_of(const Binary& binary);

}  // namespace flashfit::doctor
