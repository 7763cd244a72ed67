#pragma once
// The doctor's tables: what covers which GPU.
#include <string>

#include "cli/doctor/report.hpp"

namespace flashfit::cli {

/// A row for each GPU, of all binaries together; "" where one GPU or none was asked for.
std::string gpu_table(const doctor::TargetReport& r, const DoctorReport& report);

/// A row for each binary with GPU code, a column for each GPU: "sass", "ptx-jit", "no", and how many of its containers
/// where that is not all.
std::string binary_table(const doctor::TargetReport& r, const DoctorReport& report);

}  // namespace flashfit::cli
