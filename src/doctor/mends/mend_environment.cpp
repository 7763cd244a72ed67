// Mends that leave the file as it is: its name, Python, PyTorch, packages beside it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "doctor/facts/torch_facts.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/mends/torch_install.hpp"
#include "doctor/packaging/build_label.hpp"
#include "doctor/packaging/metadata.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/rules/library_needs.hpp"

namespace flashfit::doctor {
namespace {

using namespace std::string_view_literals;

constexpr int kOldestPython = 8, kNewestPython = 15;
constexpr auto kOfPython = {"FF201"sv, "FF203"sv, "FF221"sv, "FF222"sv};
constexpr auto kOfTorch = {"FF401"sv, "FF402"sv, "FF404"sv, "FF405"sv, "FF406"sv};

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
  return fmt::format("{}-{}-{}-{}-{}.whl", underscored(metadata->name), metadata->version.text, fmt::join(pythons, "."),
                     fmt::join(abis, "."), fmt::join(platforms, "."));
}

/// The releases of PyTorch that the target itself names, as pip is asked for them: "2.6.0+cu124".
std::vector<std::shared_ptr<const TorchFacts>> torches_named(const Target& target) {
  std::vector<std::shared_ptr<const TorchFacts>> torches;
  const auto name = parse_wheel_name(target.file_name);
  const BuildLabel label = name ? label_of(*name) : BuildLabel{};
  const auto add_release = [&](const std::string& version) {
    if (auto torch = read_torch_release(version)) torches.push_back(std::move(*torch));
  };
  const auto add = [&](const std::string& version) {
    if (label.cuda && label.cuda->minor >= 0)
      add_release(fmt::format("{}+cu{}{}", version, label.cuda->major, label.cuda->minor));
    add_release(version);
  };
  if (const auto metadata = parse_metadata(target.metadata))
    for (const Requirement& requirement : metadata->requirements)
      for (const Specifier& clause : requirement.versions)
        if (requirement.name == "torch" && clause.op == Specifier::Operator::kEqual && !clause.wildcard)
          add(clause.version.text);
  if (label.torch && label.torch->minor >= 0) add(label.torch->str() + ".0");
  return torches;
}

/// "torch 2.6.0+cu124 from PyTorch's own index "cu124"".
std::string words(const TorchFacts& torch) {
  const std::size_t local = torch.given.find('+');
  return "torch " + torch.given +
         (local == std::string::npos ? ""
                                     : fmt::format(" from PyTorch's own index \"{}\"", torch.given.substr(local + 1)));
}

/// CPythons, the nearest first.
std::vector<Python> pythons_near(const Python& python) {
  std::vector<Python> others;
  for (int minor = kOldestPython; minor <= kNewestPython; ++minor)
    if (auto other = parse_python(fmt::format("3.{}", minor))) others.push_back(std::move(*other));
  std::stable_sort(others.begin(), others.end(), [&](const Python& a, const Python& b) {
    return std::abs(a.minor - python.minor) < std::abs(b.minor - python.minor);
  });
  return others;
}

std::string new_environment(const Python& python) {
  return fmt::format("python{0} -m venv venv{0} && ", python.version);
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
  if (!question.torch || !has_problem(report, kOfTorch) || report.target.kind != TargetKind::kWheel)
    return std::nullopt;
  const std::string program =
      question.python ? fmt::format("python{}.{}", question.python->major, question.python->minor) : "python3";
  for (const auto& torch : torches_named(report.target)) {
    Question other = question;
    other.torch = torch;
    if (!fits(report.target, other)) continue;
    // Everything else was built against the PyTorch that is there.
    const std::string venv = "venv-torch" + torch->version->text;
    return Mend{fmt::format("{} -m venv {} && ", program, venv) +
                    torch_install(torch->given, shell_word(report.target.target), venv),
                fmt::format("in an environment of its own, with {}, which it names, it fits", words(*torch))};
  }
  return std::nullopt;
}

std::optional<Mend> mend_by_python(const TargetReport& report, const Question& question) {
  if (!question.python || !has_problem(report, kOfPython) || report.target.kind != TargetKind::kWheel)
    return std::nullopt;
  for (const Python& python : pythons_near(*question.python)) {
    Question other = question;
    other.python = python;
    if (!fits(report.target, other)) continue;
    return Mend{fmt::format("{}venv{}/bin/pip install {}", new_environment(python), python.version,
                            shell_word(report.target.target)),
                "under Python " + python.version + " it fits"};
  }
  return std::nullopt;
}

std::optional<Mend> mend_by_python_and_torch(const TargetReport& report, const Question& question) {
  if (!question.python || !question.torch || report.target.kind != TargetKind::kWheel ||
      !has_problem(report, kOfPython) || !has_problem(report, kOfTorch))
    return std::nullopt;
  const auto torches = torches_named(report.target);
  for (const Python& python : pythons_near(*question.python)) {
    for (const auto& torch : torches) {
      Question other = question;
      other.python = python;
      other.torch = torch;
      if (!fits(report.target, other)) continue;
      return Mend{new_environment(python) +
                      torch_install(torch->given, shell_word(report.target.target), "venv" + python.version),
                  fmt::format("under Python {} and with {}, which it names, it fits", python.version, words(*torch))};
    }
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
  std::vector<std::string> words;
  for (const std::string_view package : packages) words.push_back(shell_word(package));
  return Mend{fmt::format("pip install {}", fmt::join(words, " ")),
              fmt::format("with {} beside it, it fits", packages.size() == 1 ? "that package" : "those packages")};
}

}  // namespace flashfit::doctor
