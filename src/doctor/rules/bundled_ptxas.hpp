#pragma once
// FF705: packages that compile GPU code when they run, with a ptxas that they bring.
#include <optional>

#include "doctor/facts/facts.hpp"
#include "doctor/knowledge/package_rows.hpp"
#include "doctor/rules/question.hpp"
#include "doctor/rules/report.hpp"

namespace flashfit::doctor {

/// What a package of the row cannot compile for the GPU: nothing where one ptxas of its files knows it, as it takes
/// that one, or where none tells its version.
std::optional<Problem> ptxas_misfit(const Knowledge& row, const Target& target, const AskedGpu& gpu);

}  // namespace flashfit::doctor
