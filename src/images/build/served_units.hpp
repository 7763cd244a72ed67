#pragma once
// What the images of the forward rows serve, in the words of who calls: a dtype and a head_dim.
#include <span>
#include <vector>

#include "images/build/recipe.hpp"
#include "images/image_note.hpp"

namespace flashfit {

/// Of recipes of forward rows: one unit for each dtype and head_dim of a row, served by every image of that dtype whose
/// row takes as large a head.
std::vector<ServedUnit> served_units(std::span<const Recipe> recipes);

}  // namespace flashfit
