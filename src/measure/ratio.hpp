#pragma once
// Ratios of times of two runs, and what is said of them.
#include "measure/result_file.hpp"

namespace flashfit::results {

using measure::Ratio;

/// above / below of two independent figures. The distances from the value to the interval's ends add as the sides of a
/// right angle do, in the logarithm, each end with that of the other figure which pushes the same way (G. Y. Zou and
/// A. Donner, Statistics in Medicine 27, 2008, 1693: intervals of a ratio recovered from those of its parts).
Ratio quotient(const Ratio& above, const Ratio& below);

/// The hypotenuse over two of them. std::hypot would raise the oldest glibc that the command runs on to 2.35.
double together(double a, double b);

/// The interval reaches at least `share`, 0 or more, to either side of the value.
Ratio widened(Ratio ratio, double share);

enum class Verdict { kFaster, kSlower, kSame, kCannotTell };

/// "faster", "slower", "same", "can't tell".
const char* name_of(Verdict verdict);

/// Of a ratio of times, new over old, and a margin above 0. Slower: the whole interval is above 1 + margin. Faster: all
/// of it is below 1 / (1 + margin). Same: all of it lies from one to the other. Else it cannot be told.
Verdict judge(const Interval& interval, double margin);

}  // namespace flashfit::results
