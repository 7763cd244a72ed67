#pragma once
// What the images serve, in the words of who calls: "fp16 head_dim 64".
#include <span>
#include <vector>

#include "runtime/images/build/recipe.hpp"
#include "runtime/images/image_note.hpp"

namespace flashfit {

/// Of recipes of the catalogue: one unit for each text of a variant's KernelVariant::serves, served by every image
/// whose variant has it; in the order in which the catalogue first names them.
std::vector<ServedUnit> served_units(std::span<const Recipe> recipes);

}  // namespace flashfit
