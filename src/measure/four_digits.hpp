#pragma once
// Numbers for people.
#include <string>

namespace flashfit::measure {

/// Four digits that matter, or all before the point: "0.007287", "7.546", "18220"; from 1e9 on and below 1e-4 as a
/// power of ten. x is finite.
std::string four_digits(double x);

}  // namespace flashfit::measure
