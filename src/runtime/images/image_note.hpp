#pragma once
// The index of the carried images that other readers find: an ELF note that says in text which GPUs the library has
// code for, as the images themselves are compressed. docs/images.md, "The index for other readers", has its grammar.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/gpu/target.hpp"

namespace flashfit {

/// What a user asks for and every image that serves it: "fp16 head_dim 64".
struct ServedUnit {
  std::string name;             ///< without ':' and line ends
  std::vector<Target> targets;  ///< in order, none twice
};

/// The note's section: owner "gpu-images", type 1. `toolkit` made the machine code ("12.9"), `ptx_isa` is that of the
/// PTX
/// ("8.8").
std::vector<std::byte> make_image_note(std::span<const ServedUnit> units, const std::string& toolkit,
                                       const std::string& ptx_isa);

}  // namespace flashfit
