#pragma once
// Which PyTorch the doctor's targets are judged for where --torch names none.
#include <memory>
#include <string>
#include <vector>

#include "cli/doctor/report.hpp"

namespace flashfit::cli {

/// The PyTorch of the first folder among the targets that has one, which is what the libraries beside it load under;
/// null if none has. `assumed` gets a line that says so.
std::shared_ptr<const doctor::TorchFacts> torch_among(const std::vector<std::string>& targets,
                                                      std::vector<std::string>& assumed);

/// Adds a line to what was assumed where a target needs a PyTorch and none is known.
void say_if_torch_is_not_judged(DoctorReport& report);

}  // namespace flashfit::cli
