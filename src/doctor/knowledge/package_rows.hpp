#pragma once
// What is known of packages beside their bytes: which of their files they load where, what they compile when they run,
// what their own code refuses. Rows of data/knowledge.json, apart from the rules that read them (*_check.cpp); every
// row has its source.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu/target.hpp"

namespace flashfit::doctor {

struct Knowledge {
  enum class Kind : unsigned char {
    kPicksByCuda,        ///< loads the file whose `*` is the CUDA of torch: "130"
    kPicksNearCuda,      ///< the same, else the nearest of the same major version
    kPicksByGpu,         ///< loads the files on `gpus` alone, and cannot do without them there
    kOnlyOn,             ///< loads the files on `gpus` alone, and does without them elsewhere
    kCompilesWithPtxas,  ///< compiles with the ptxas that matches `files`, when it runs
    kCompilesWithNvcc,   ///< compiles with the system's nvcc, when it runs
    kRefuses,            ///< its own code refuses GPUs but those of `gpus`, whatever images there are
    kFallsBack,          ///< where `files` cannot be loaded it goes on, without the GPU
    kRenamed,            ///< a name of the past: `other` is its name today
    kClashes,            ///< has the same files as the package `other`: who was installed last wins
    kOnlyBeside,         ///< its own code works beside the same release of the package `other` alone
    kRefusedBeside,      ///< the code of `other` does not start beside another release of it
    kOpens,              ///< `files` open the library `other` when they first use a GPU, and name it nowhere
  };
  Kind kind;
  std::string_view package;   ///< normalised; a '*' at its end stands for any ending
  std::string_view versions;  ///< as Requires-Dist has them: "<2.7.3"; "" for all
  std::string_view files;     ///< below the folder of packages, '*' for anything
  std::string_view gpus;      ///< "8.9 12.0 12.1", "8.0-9.0", "8.0-"; "" for all, kNoGpu for none of NVIDIA's
  std::string_view other;     ///< another package, a library, or the variable that overrides the choice
  std::string_view index;     ///< of packages, that has `other`, with '*' for torch's CUDA; "" if pip's own has it
  std::string_view cudas;     ///< that `index` has: "128 129"
  std::string_view says;      ///< what is seen when it goes wrong
  std::string_view fix;       ///< in words
  std::string_view checked;   ///< the newest release that the row was held against: a newer one may differ
  std::string_view source;    ///< file or thread
};

std::span<const Knowledge> knowledge();

/// The rows of one kind that hold for this package and version.
std::vector<const Knowledge*> known_of(std::string_view package, std::string_view version, Knowledge::Kind kind);

inline constexpr std::string_view kNoGpu = "none";

/// Whether the GPU is one of `gpus`.
bool names_gpu(std::string_view gpus, ComputeCapability gpu);

/// Whether the path matches `pattern`: '*' stands for any characters, '/' among them.
bool matches(std::string_view pattern, std::string_view path);
/// What the one '*' of `pattern` stands for in `path`; "" if it does not match.
std::string star_of(std::string_view pattern, std::string_view path);

}  // namespace flashfit::doctor
