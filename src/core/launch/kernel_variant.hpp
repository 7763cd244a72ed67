#pragma once
// A kernel as its family describes it to the host: what the build compiles, the plan chooses and the loader launches.
// The catalogue (runtime/images/catalogue.hpp) has the variants of all families.
#include <span>
#include <string>
#include <vector>

#include "core/gpu/target.hpp"

namespace flashfit {

/// Kernels that are compiled forms of one source.
struct KernelFamily {
  const char* operation;  ///< what it computes: "attention.forward"
  const char* name;       ///< which of that operation's families it is: "mma"
  const char* header;     ///< where its kernel is defined, as #include takes it
};

/// One compiled form. Its threads, shared memory, cluster and argument are what the kernel's type says
/// (kernels/arch/arch.hpp); a test holds every variant to its type.
struct KernelVariant {
  const KernelFamily* family;
  const void* form;  ///< what its family knows of it, in a type of its own
  std::string name;  ///< unique in the catalogue; what users and images name it by
  std::string type;  ///< its C++ type, as namespace flashfit sees it: "RouteKernel<...>"
  std::span<const Target> targets;
  int threads;          ///< of a block
  int shared_bytes;     ///< dynamic, of a block
  int params_bytes;     ///< of its one argument
  int cluster = 1;      ///< blocks of a cluster, along x
  int spill_bytes = 0;  ///< spilled or local bytes a thread that the build accepts
  /// What users ask for and this variant gives them, in their words: "fp16 head_dim 64" (docs/images.md, "The index for
  /// other readers").
  std::vector<std::string> serves = {};
};

}  // namespace flashfit
