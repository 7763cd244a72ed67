// Mends that leave the file as it is: its name, Python, PyTorch, packages beside it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "inspect/build_label.hpp"
#include "inspect/library_needs.hpp"
#include "inspect/mends.hpp"
#include "inspect/metadata.hpp"
#include "inspect/torch_facts.hpp"
#include "inspect/wheel_name.hpp"

namespace flashfit::inspect {
namespace {

constexpr int kOldestPython = 8, kNewestPython = 14;

/// "NAME-VERSION-TAGS.whl", with tags of one set as WHEEL lists them; "" if it does not say.
std::string name_by_content(const Target& target) {
  const auto metadata = parse_metadata(target.metadata);
  const auto file = parse_wheel_file(target.wheel_file);
  if (!metadata || !file || file->tags.empty()) return "";
  std::vector<std::string> pythons, abis, platforms;
  const auto add = [](std::vector<std::string>& list, const std::string& tag) {
    if (std::find(list.begin(), list.end(), tag) == list.end()) list.push_back(tag);
  };
  for (const WheelTag& tag : file->tags) {
    add(pythons, tag.python);
    add(abis, tag.abi);
    add(platforms, tag.platform);
  }
  std::string name = metadata->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return fmt::format("{}-{}-{}-{}-{}.whl", name, metadata->version.text, fmt::join(pythons, "."), fmt::join(abis, "."),
                     fmt::join(platforms, "."));
}

/// Versions of PyTorch that the target itself names, as pip is asked for them: "2.6.0+cu124".
std::vector<std::string> torches_named(const Target& target) {
  std::vector<std::string> versions;
  const auto name = parse_wheel_name(target.file_name);
  const BuildLabel label = name ? label_of(*name) : BuildLabel{};
  const auto with_cuda = [&](const std::string& version) {
    return label.cuda && label.cuda->minor >= 0
               ? fmt::format("{}+cu{}{}", version, label.cuda->major, label.cuda->minor)
               : version;
  };
  const auto add = [&](const std::string& version) {
    versions.push_back(with_cuda(version));
    if (versions.back() != version) versions.push_back(version);
  };
  if (const auto metadata = parse_metadata(target.metadata))
    for (const Requirement& requirement : metadata->requirements)
      for (const Specifier& clause : requirement.versions)
        if (requirement.name == "torch" && clause.op == Specifier::Operator::kEqual && !clause.wildcard)
          add(clause.version.text);
  if (label.torch && label.torch->minor >= 0) add(label.torch->str() + ".0");
  return versions;
}

}  // namespace

std::optional<Mend> mend_by_name(const TargetReport& report, const Question& question) {
  if (!has_problem(report, {"FF205", "FF206"}) || report.target.kind != TargetKind::kWheel) return std::nullopt;
  Target renamed = report.target;
  renamed.file_name = name_by_content(report.target);
  if (renamed.file_name.empty() || !is_plain_path(renamed.file_name) ||
      renamed.file_name.find('/') != std::string::npos || !fits(renamed, question))
    return std::nullopt;
  const auto to = std::filesystem::path(report.target.target).replace_filename(renamed.file_name).string();
  return Mend{fmt::format("mv {} {}", shell_word(report.target.target), shell_word(to)),
              "under the name that its METADATA and WHEEL give it fits"};
}

std::optional<Mend> mend_by_torch(const TargetReport& report, const Question& question) {
  if (!question.torch || !has_problem(report, {"FF401", "FF402", "FF404", "FF405", "FF406"})) return std::nullopt;
  for (const std::string& version : torches_named(report.target)) {
    const auto torch = read_torch(version);
    if (!torch) continue;
    Question other = question;
    other.torch = *torch;
    if (!fits(report.target, other)) continue;
    const std::size_t local = version.find('+');
    const std::string from =
        local == std::string::npos ? "" : fmt::format(" from PyTorch's own index \"{}\"", version.substr(local + 1));
    return Mend{fmt::format("pip install {}", shell_word("torch==" + version)),
                fmt::format("with torch {}{}, which it names, it fits", version, from)};
  }
  return std::nullopt;
}

std::optional<Mend> mend_by_python(const TargetReport& report, const Question& question) {
  if (!question.python || !has_problem(report, {"FF201", "FF203", "FF221", "FF222"})) return std::nullopt;
  if (report.target.kind != TargetKind::kWheel) return std::nullopt;
  std::vector<int> minors;
  for (int minor = kOldestPython; minor <= kNewestPython; ++minor) minors.push_back(minor);
  std::stable_sort(minors.begin(), minors.end(), [&](int a, int b) {
    return std::abs(a - question.python->minor) < std::abs(b - question.python->minor);
  });
  for (const int minor : minors) {
    Question other = question;
    const std::string version = fmt::format("3.{}", minor);
    const auto python = parse_python(version);
    if (!python) continue;
    other.python = *python;
    if (!fits(report.target, other)) continue;
    return Mend{fmt::format("python{0} -m venv venv{0} && venv{0}/bin/pip install {1}", version,
                            shell_word(report.target.target)),
                "under Python " + version + " it fits"};
  }
  return std::nullopt;
}

std::optional<Mend> mend_by_packages(const TargetReport& report, const Question& question) {
  if (!has_problem(report, {"FF330"})) return std::nullopt;
  std::set<std::string_view> packages;
  for (const LibraryNeed& need : library_needs(report.target, question))
    if (need.package != nullptr) packages.insert(need.package->package);
  Target changed = report.target;
  if (changed.metadata.empty()) changed.metadata = "Metadata-Version: 2.1\nName: folder\nVersion: 0\n";
  for (const std::string_view package : packages) changed.metadata += fmt::format("Requires-Dist: {}\n", package);
  if (!fits(changed, question)) return std::nullopt;
  return Mend{fmt::format("pip install {}", fmt::join(packages, " ")),
              fmt::format("with {} beside it, it fits", packages.size() == 1 ? "that package" : "those packages")};
}

}  // namespace flashfit::inspect
