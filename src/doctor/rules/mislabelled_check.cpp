#include <algorithm>
#include <charconv>
#include <set>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/packaging/build_label.hpp"
#include "doctor/packaging/platform_tag.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/cudart.hpp"

namespace flashfit::doctor {
namespace {

void check_cuda(const Target& target, const BuildLabel& label, std::vector<Problem>& problems) {
  if (!label.cuda) return;
  for (const Binary& binary : target.binaries) {
    int linked = 0;
    for (const std::string& library : binary.needed) linked = std::max(linked, cudart_major(library));
    const int made = binary.toolkit / 1000;
    if (linked != 0 && linked != label.cuda->major) {
      problems.push_back(
          {"FF223", Severity::kDegrades,
           fmt::format("mislabelled: the file name says CUDA {}, the library needs the runtime of CUDA {}",
                       label.cuda->str(), linked),
           binary.path, ""});
    } else if (made > label.cuda->major) {  // older code runs wherever the newer CUDA does: NVIDIA ships some
      problems.push_back({"FF223", Severity::kDegrades,
                          fmt::format("mislabelled: the file name says CUDA {}, its GPU code was made by CUDA {}.{}",
                                      label.cuda->str(), made, binary.toolkit % 1000 / 10),
                          binary.path, ""});
    } else {
      continue;
    }
    return;  // one library is enough to show it
  }
}

/// Architectures that the local version names: "cu128.sm90", "sm_120".
std::set<int> claimed_architectures(const WheelName& wheel) {
  std::set<int> found;
  const std::string text = lower(wheel.version.local + "." + wheel.build);
  for (std::size_t at = text.find("sm"); at != std::string::npos; at = text.find("sm", at + 2)) {
    const bool begins = at == 0 || !is_letter(text[at - 1]);
    std::size_t digits = at + 2;
    if (digits < text.size() && (text[digits] == '_' || text[digits] == '.')) ++digits;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data() + digits, text.data() + text.size(), value);
    if (begins && error == std::errc() && value >= 50 && value < 1000) found.insert(value);
  }
  return found;
}

void check_architectures(const Target& target, const WheelName& wheel, std::vector<Problem>& problems) {
  std::set<int> carried;
  for (const Binary& binary : target.binaries)
    for (const Container& container : binary.containers)
      for (const CodeEntry& entry : container.entries) carried.insert(entry.target.architecture);
  if (carried.empty()) return;
  for (const int claimed : claimed_architectures(wheel)) {
    if (carried.contains(claimed)) continue;
    problems.push_back({"FF224", Severity::kDegrades,
                        fmt::format("mislabelled: the file name says sm_{}, and no GPU code in it is of {}.{}", claimed,
                                    claimed / 10, claimed % 10),
                        "", ""});
  }
}

/// The machine of a tag as binaries name it: "amd64" of Windows is "x86_64".
std::string machine_of(const std::string& arch) {
  if (arch == "amd64") return "x86_64";
  return arch == "arm64" ? "aarch64" : arch;
}

void check_machines(const Target& target, const WheelName& wheel, std::vector<Problem>& problems) {
  std::set<std::string> tagged;
  for (const WheelTag& tag : wheel.tags) {
    const auto platform = parse_platform_tag(tag.platform);
    // "any" and two machines in one file promise no machine.
    if (!platform || platform->arch == "universal2") return;
    tagged.insert(machine_of(platform->arch));
  }
  const Binary* other = nullptr;
  for (const Binary& binary : target.binaries) {
    const bool hosted = binary.kind == BinaryKind::kElf || binary.kind == BinaryKind::kPe;
    if (!hosted || binary.machine.empty()) continue;
    // Beside one that is as promised, others are for more machines than were.
    if (tagged.contains(machine_of(binary.machine))) return;
    if (other == nullptr) other = &binary;
  }
  if (other == nullptr) return;
  problems.push_back(
      {"FF225", Severity::kMisfit,
       fmt::format("mislabelled: the tag says {}, the library is for {}", *tagged.begin(), other->machine), other->path,
       ""});
}

}  // namespace

void check_mislabelled(const Target& target, const Question&, std::vector<Problem>& problems) {
  if (target.kind != TargetKind::kWheel) return;
  const auto wheel = parse_wheel_name(target.file_name);
  if (!wheel) return;
  check_cuda(target, label_of(*wheel), problems);
  check_architectures(target, *wheel, problems);
  check_machines(target, *wheel, problems);
}

}  // namespace flashfit::doctor
