// FF201 to FF208: names, tags and metadata of wheels and source distributions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "core/base/printable.hpp"
#include "doctor/bytes/encoding.hpp"
#include "doctor/packaging/metadata.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/rules/all_checks.hpp"

namespace flashfit::doctor {
namespace {

void judge_tags(const WheelName& name, const Question& question, std::vector<Problem>& problems) {
  const auto add = [&](const char* code, std::string message, std::string fix) {
    problems.push_back({code, Severity::kMisfit, std::move(message), "", std::move(fix)});
  };
  if (question.python && question.platform) {
    const TagVerdict verdict = judge(name.tags, {*question.python, *question.platform});
    if (verdict.fits) return;
    const bool python = std::any_of(name.tags.begin(), name.tags.end(),
                                    [&](const WheelTag& tag) { return python_misfit(tag, *question.python).empty(); });
    return add(python ? "FF202" : "FF201", verdict.reason, verdict.wanted);
  }
  std::string why;
  for (const WheelTag& tag : name.tags) {
    why = question.python     ? python_misfit(tag, *question.python)
          : question.platform ? platform_misfit(tag.platform, *question.platform)
                              : "";
    if (why.empty()) return;
  }
  add(question.python ? "FF201" : "FF202", why, question.python ? question.python->tag() : question.platform->str());
}

void judge_metadata(const Target& target, const std::optional<WheelName>& name, const Question& question,
                    std::vector<Problem>& problems) {
  const auto metadata = parse_metadata(target.metadata);
  if (!metadata) {
    const bool sdist = target.kind == TargetKind::kSdist;
    problems.push_back({"FF207", sdist ? Severity::kNote : Severity::kMisfit,
                        target.metadata.empty() ? "no METADATA: installers refuse it" : metadata.error().message, "",
                        "the file as its maker published it"});
    return;
  }
  if (question.python)
    if (std::string why = python_misfit(*metadata, *question.python); !why.empty())
      problems.push_back(
          {"FF203", Severity::kMisfit, std::move(why), "", "Python " + printable(metadata->requires_python)});
  if (name)
    for (std::string& line : disagreements(*name, *metadata))
      problems.push_back({"FF205", Severity::kMisfit, std::move(line), "", "a file under its own name"});
}

void judge_wheel_file(const Target& target, const WheelName& name, std::vector<Problem>& problems) {
  const auto file = parse_wheel_file(target.wheel_file);
  if (!file) {
    problems.push_back({"FF207", Severity::kMisfit,
                        target.wheel_file.empty() ? "no WHEEL: installers refuse it" : file.error().message, "",
                        "the file as its maker published it"});
    return;
  }
  std::vector<std::string> refusals = {format_misfit(*file), dist_info_misfit(name, target.dist_infos)};
  refusals.insert(refusals.end(), target.refusals.begin(), target.refusals.end());
  for (std::string& why : refusals)
    if (!why.empty())
      problems.push_back({"FF207", Severity::kMisfit, std::move(why), "", "the file as its maker published it"});
  for (std::string& line : disagreements(name, *file))
    problems.push_back({"FF204", Severity::kNote, std::move(line) + "; installers go by the name", "", ""});
}

/// pip reads neither behind a byte-order mark, although editors write one.
void judge_encoding(const Target& target, std::vector<Problem>& problems) {
  for (const auto& [file, text] : {std::pair("METADATA", &target.metadata), std::pair("WHEEL", &target.wheel_file)})
    if (has_encoding_mark(*text))
      problems.push_back({"FF207", Severity::kMisfit,
                          fmt::format("{} begins with a byte-order mark: installers refuse it", file), "",
                          "the file as its maker published it"});
}

void judge_sdist(const Target& target, std::vector<Problem>& problems) {
  std::vector<std::string> needs;
  if (target.cuda_sources > 0) needs.push_back(fmt::format("nvcc ({} CUDA sources)", target.cuda_sources));
  if (target.cuda_sources == 0 && target.cpp_sources > 0) needs.emplace_back("a C++ compiler");
  if (target.uses_torch) needs.emplace_back("torch while it builds");
  for (const std::string& requirement : target.build_requires) needs.push_back(printable(requirement, 60));
  problems.push_back({"FF208", target.cuda_sources > 0 || target.uses_torch ? Severity::kUnknown : Severity::kNote,
                      fmt::format("source distribution: it will be compiled on your machine; needs {}",
                                  needs.empty() ? "nothing that it names" : fmt::format("{}", fmt::join(needs, ", "))),
                      "", target.cuda_sources > 0 ? "a wheel, or the toolkit of your torch's CUDA" : ""});
  if (target.compiled > 0)
    problems.push_back(
        {"FF208", Severity::kUnknown,
         fmt::format("{} compiled already, such as {}, and {} not read in a source distribution",
                     target.compiled == 1 ? "a file in it is" : fmt::format("{} files in it are", target.compiled),
                     printable(target.first_compiled), target.compiled == 1 ? "is" : "are"),
         "", "the folder that it unpacks to, given to the doctor"});
}

}  // namespace

void check_wheel_tags(const Target& target, const Question& question, std::vector<Problem>& problems) {
  const bool wheel = target.kind == TargetKind::kWheel;
  if (target.kind == TargetKind::kSdist) judge_sdist(target, problems);
  if (!wheel && target.kind != TargetKind::kName) {
    if (target.kind == TargetKind::kSdist && !target.metadata.empty())
      judge_metadata(target, std::nullopt, question, problems);
    return;
  }
  auto parsed = parse_wheel_name(target.file_name);
  std::optional<WheelName> name;
  if (parsed) {
    name = std::move(*parsed);
    judge_tags(*name, question, problems);
  } else {
    problems.push_back(
        {"FF206", Severity::kMisfit,
         parsed.error().message + (target.kind == TargetKind::kName ? ": no file of that name is here to be read"
                                                                    : ": installers refuse it by its name"),
         "", "the file under the name that its maker gave it"});
  }
  // A directory that could not be read holds no metadata to speak of.
  if (!wheel || (target.metadata.empty() && !target.errors.empty())) return;
  judge_metadata(target, name, question, problems);
  if (name) judge_wheel_file(target, *name, problems);
  judge_encoding(target, problems);
}

}  // namespace flashfit::doctor
