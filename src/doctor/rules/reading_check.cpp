// FF901 to FF903: what could not be read, or is nothing that the doctor judges.
#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/other_lists.hpp"

namespace flashfit::doctor {

void check_reading(const Target& target, const Question&, std::vector<Problem>& problems) {
  const auto add = [&](const std::string& message, const std::string& member) {
    const bool opened = !message.starts_with("cannot be");
    problems.push_back({opened ? "FF901" : "FF903", Severity::kUnknown, printable(message, 400), member,
                        opened ? "the file as its maker published it: compare its hash" : ""});
  };
  for (const std::string& error : target.errors) add(error, "");
  for (const Binary& binary : target.binaries)
    if (!binary.error.empty()) add(binary.error, binary.path);
  if (!target.errors.empty()) return;
  const bool nothing = target.kind == TargetKind::kOther || target.kind == TargetKind::kDirectory;
  if (!nothing || !target.binaries.empty()) return;
  const std::string instead = target.kind == TargetKind::kDirectory ? "" : instead_of(target.file_name);
  problems.push_back({"FF902", Severity::kUnknown,
                      target.kind == TargetKind::kDirectory
                          ? fmt::format("nothing to judge: {} file{}, none a library or GPU code", target.files,
                                        target.files == 1 ? "" : "s")
                      : instead.empty() ? "nothing to judge: neither wheel nor library nor GPU code"
                                        : "nothing to judge: " + instead,
                      "", ""});
}

}  // namespace flashfit::doctor
