#pragma once
// A measured case as docs/results.md writes it.
#include <nlohmann/json.hpp>
#include <optional>

#include "measure/measure.hpp"
#include "measure/roofline.hpp"

namespace flashfit::measure {

/// A measurement above its own bound is an error of the harness or the kernel, not speed: it becomes a case that is not
/// correct and has no times. Nothing where it is below, or where there is no bound.
std::optional<std::string> above_bound(const Measured& m, const std::optional<Bound>& bound);

nlohmann::ordered_json json_of(const Case& c, const Measured& m, Launch launch, const std::optional<Bound>& bound);

/// One line a case, after a line of titles.
std::string csv_of(const nlohmann::ordered_json& cases);

}  // namespace flashfit::measure
