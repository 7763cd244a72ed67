#include "cli/doctor/torch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/base/printable.hpp"
#include "doctor/facts/torch_facts.hpp"
#include "doctor/packaging/build_label.hpp"

namespace flashfit::cli {
namespace {

using doctor::TargetReport;
using doctor::TorchAbi;

bool needs_torch(const TargetReport& report) {
  const doctor::Target& target = report.target;
  const auto name = doctor::parse_wheel_name(target.file_name);
  if (name && name->name == "torch") return false;
  if (target.kind == doctor::TargetKind::kName) return name && doctor::label_of(*name).torch;
  return std::any_of(target.binaries.begin(), target.binaries.end(),
                     [](const doctor::Binary& b) { return b.extension.torch_abi != TorchAbi::kNone; });
}

}  // namespace

std::shared_ptr<const doctor::TorchFacts> torch_among(const std::vector<std::string>& targets,
                                                      std::vector<std::string>& assumed) {
  for (const std::string& target : targets) {
    std::error_code none;
    const auto folder = std::filesystem::path(target) / "torch";
    if (!std::filesystem::is_directory(folder, none)) continue;
    // What is unreadable in it, the target's own problems say.
    auto torch = doctor::read_torch(folder.string());
    if (!torch) continue;
    assumed.push_back(fmt::format("PyTorch is that of {}", printable(target, 200)));
    return *torch;
  }
  return nullptr;
}

void say_if_torch_is_not_judged(DoctorReport& report) {
  if (!report.question.torch && std::any_of(report.targets.begin(), report.targets.end(), needs_torch))
    report.assumed.emplace_back("no PyTorch was given: what is needed of one is not judged (--torch)");
}

}  // namespace flashfit::cli
