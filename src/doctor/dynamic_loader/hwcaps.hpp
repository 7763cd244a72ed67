#pragma once
// Subfolders of every search folder that hold libraries for better processors (glibc 2.33 and later).
#include <string>
#include <string_view>
#include <vector>

namespace flashfit::doctor::dynamic_loader {

/// The names under glibc-hwcaps/ that the loader looks into, the best first: of x86_64 at level 3, x86-64-v3 and
/// x86-64-v2. Other machines have none that the model knows.
std::vector<std::string> hwcaps_of(std::string_view machine, int x86_level);

}  // namespace flashfit::doctor::dynamic_loader
